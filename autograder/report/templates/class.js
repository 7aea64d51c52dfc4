// Sorts and filters the class table; without it the page still reads, in order of names.
const table = document.getElementById("class");
if (table) {
  const body = table.tBodies[0], rows = [...body.rows], filter = document.getElementById("filter"), marks = document.getElementById("marks");
  const value = (row, i) => row.cells[i].dataset.value ?? row.cells[i].textContent.trim();

  const sort = (head) => {
    const i = head.cellIndex, numbers = head.classList.contains("num");
    // Numbers start with the highest, names with the first.
    const down = head.ariaSort ? head.ariaSort === "ascending" : numbers;
    const compare = (a, b) => numbers ? value(a, i) - value(b, i) : value(a, i).localeCompare(value(b, i), undefined, {numeric: true});
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...rows.sort((a, b) => down ? compare(b, a) : compare(a, b)));
  };

  const show = () => {
    const wanted = filter.value.trim().toLowerCase();
    const marked = (row) => !marks.value || row.dataset.marks.split(" ").includes(marks.value);
    for (const row of rows) row.hidden = !(marked(row) && value(row, 0).toLowerCase().includes(wanted));
    document.getElementById("shown").textContent = wanted || marks.value ? `${rows.filter((row) => !row.hidden).length} of ${rows.length}` : "";
  };

  for (const button of table.querySelectorAll("thead button")) button.addEventListener("click", () => sort(button.parentNode));
  filter.addEventListener("input", show);
  marks.addEventListener("change", show);
  filter.closest(".controls").hidden = false;
}
