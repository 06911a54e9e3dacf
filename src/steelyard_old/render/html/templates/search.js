// Shows only the rows that contain what is typed, folded ones too. Without it every row is there.
for (const box of document.querySelectorAll(".search")) {
  const input = box.querySelector("input");
  const count = box.querySelector("output");
  const folded = box.parentElement.querySelectorAll("table.more tbody tr");
  const rows = [...box.nextElementSibling.querySelectorAll("tbody tr"), ...folded];
  box.hidden = false;
  input.addEventListener("input", () => {
    const asked = input.value.toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const fits = row.textContent.toLowerCase().includes(asked);
      row.hidden = !fits;
      if (fits) shown += 1;
    }
    if (asked && [...folded].some((row) => !row.hidden)) folded[0].closest("details").open = true;
    count.textContent = asked ? shown.toLocaleString("en") + " of " + rows.length.toLocaleString("en") : "";
  });
}
