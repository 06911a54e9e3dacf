// Shows only the rows that contain what is typed. Without it every row is there.
for (const box of document.querySelectorAll(".search")) {
  const input = box.querySelector("input");
  const count = box.querySelector("output");
  const rows = box.nextElementSibling.querySelectorAll("tbody tr");
  box.hidden = false;
  input.addEventListener("input", () => {
    const asked = input.value.toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const fits = row.textContent.toLowerCase().includes(asked);
      row.hidden = !fits;
      if (fits) shown += 1;
    }
    count.textContent = asked ? shown.toLocaleString("en") + " of " + rows.length.toLocaleString("en") : "";
  });
}
