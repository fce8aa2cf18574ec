// Draws the API's description with Swagger UI, in the page's theme; calls that are tried carry the CSRF token.

const place = document.getElementById("swagger");
const root = document.documentElement;
const systemDark = matchMedia("(prefers-color-scheme: dark)");

function followTheme() {
  root.classList.toggle("dark-mode", (root.dataset.theme ?? (systemDark.matches ? "dark" : "light")) === "dark");
}

followTheme();
document.addEventListener("themechange", followTheme);

SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: place,
  docExpansion: "list",
  defaultModelsExpandDepth: -1,
  onComplete: () => place.removeAttribute("aria-busy"),
  requestInterceptor(request) {
    request.headers["X-CSRFToken"] = place.dataset.csrf;
    return request;
  },
});
