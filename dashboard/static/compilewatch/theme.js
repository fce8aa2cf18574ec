// Runs before the page is drawn, so that a remembered theme does not flash in the other one.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is forbidden: the system's theme it is.
}
