// A request that fails leaves the page as it was. The box says so and offers to try again, and the form that asked shows
// what the page is of.

const box = document.getElementById("failed-request");
const [words, again] = [box.querySelector("p"), box.querySelector("button")];
let failed; // htmx's detail of the request that the box is about

function reason({ status, statusText, responseText }) {
  if (!status) return "the site does not answer.";
  const page = new DOMParser().parseFromString(responseText, "text/html");
  const explained = page.querySelector("main .note, main .empty")?.textContent.trim().replace(/\s+/g, " ");
  return explained || `the site answered ${status} ${statusText}.`;
}

function report({ detail }) {
  failed = detail;
  const form = detail.elt.closest("form[data-submits]");
  form?.reset();
  words.textContent = `This could not be loaded: ${reason(detail.xhr)} The page shows what it showed before.`;
  box.hidden = false;
}
for (const name of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) document.addEventListener(name, report);

document.addEventListener("htmx:afterRequest", ({ detail }) => {
  if (detail.successful && (detail.elt === failed?.elt || detail.target.id === "content")) box.hidden = true;
});

again.addEventListener("click", () => {
  for (const name of ["hx-push-url", "hx-select", "hx-swap"]) {
    const value = failed.elt.closest(`[${name}]`)?.getAttribute(name);
    if (value) again.setAttribute(name, value);
    else again.removeAttribute(name);
  }
  const target = failed.target;
  // Another failure is reported by its event
  htmx.ajax(failed.requestConfig.verb, failed.pathInfo.finalRequestPath, { source: again, target }).catch(() => {});
});
