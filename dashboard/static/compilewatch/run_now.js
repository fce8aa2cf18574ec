// "Run now": what the form would start is asked again after each change; another machine brings its own builds.
document.addEventListener("DOMContentLoaded", () => {
  const output = document.getElementById("run-cost");
  const form = document.getElementById("run_form");
  if (!output || !form) return;

  let newest = 0; // an older answer may come after a newer one
  async function showCost() {
    const number = ++newest;
    const answer = await fetch(output.dataset.address, { method: "POST", body: new FormData(form) });
    const text = await answer.text();
    if (answer.ok && number === newest) output.textContent = text;
  }

  form.addEventListener("change", (event) => {
    if (event.target.name !== "machine") return showCost();
    const address = new URL(location.href);
    address.searchParams.set("machine", event.target.value);
    location.assign(address);
  });
  // The choice of benchmarks is a widget that tells jQuery alone
  window.django?.jQuery?.(form).on("change", "#id_benchmarks", showCost);
  showCost();
});
