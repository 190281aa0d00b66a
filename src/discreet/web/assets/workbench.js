// The workbench works without this file; with it, keys and copying do too.

const find = (selector) => document.querySelector(selector);

// --- keys: a dry run with Ctrl+Enter; with Shift, ask: what was not planned yet is planned first, and costs nothing
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  const button = (event.shiftKey && find("[data-key=ask]")) || find(event.shiftKey ? "[data-key=plan]" : "[data-key=dry]");
  if (button) { event.preventDefault(); button.click(); }
});

// --- copying
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = document.getElementById(button.dataset.copy).textContent;
  try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; }
  catch { button.textContent = "Select the text to copy it"; }
});

// --- what appears after a request is read out and can be reached by keys
document.addEventListener("htmx:afterSettle", () => {
  const heading = find("[data-focus]");
  if (heading) heading.focus();
});
