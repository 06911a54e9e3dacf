// Points of a chart: what each is, on pointing at it or reaching it with the arrow keys. Without this they are links with titles.
for (const chart of document.querySelectorAll(".chart")) {
  const told = chart.querySelector(".told");
  const points = [...chart.querySelectorAll(".point")];
  for (const [place, point] of points.entries()) {
    point.querySelector("title")?.remove(); // ours comes at once, and not twice
    point.setAttribute("tabindex", place === points.length - 1 ? "0" : "-1"); // one stop for all: arrows go on from there
    const show = () => {
      const box = chart.getBoundingClientRect();
      const at = point.querySelector(".reach").getBoundingClientRect();
      told.textContent = point.dataset.told;
      told.hidden = false;
      const left = Math.min(Math.max(0, at.left - box.left - told.offsetWidth / 2), Math.max(0, box.width - told.offsetWidth));
      told.style.left = left + "px";
      told.style.top = Math.max(0, at.top - box.top - told.offsetHeight - 8) + "px";
    };
    const hide = () => { told.hidden = true; };
    point.addEventListener("mouseenter", show);
    point.addEventListener("mouseleave", hide);
    point.addEventListener("focus", show);
    point.addEventListener("blur", hide);
    point.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hide();
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -points.length, End: points.length }[event.key];
      if (!step) return;
      event.preventDefault();
      const next = points[Math.min(points.length - 1, Math.max(0, place + step))];
      point.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    });
  }
}
