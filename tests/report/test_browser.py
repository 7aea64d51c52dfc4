"""The pages in Debian's Chromium: they fit a phone and a desk, sort and filter, open, and complain of nothing."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from autograder.batch import store
from autograder.course import Course, find_root
from autograder.handed_in import times
from autograder.handed_in.times import Handed, moment
from autograder.model import Submission
from autograder.report.html import write
from autograder.results.standing import rules
from tests import chromium
from tests.samples import a_check, a_class, a_part, a_result, a_silent_check

pytestmark = chromium.needed
WIDTHS = {"phone": 390, "desk": 1200}
PAGES = {
    "class": "index.html",
    "anonymous": "anonymous.html",
    "feedback": "student03/feedback.html",
}
HOSTILE = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"
CSV = f"precision,speedup,device\nFP32,1,{HOSTILE}\n".replace('"', "").encode()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A class of 30 with speedups, memory, a trace, a table of their own, and one whose texts are markup."""
    out = tmp_path_factory.mktemp("results")
    for n, result in enumerate(a_class(30)):
        ratio = 1.2 + n / 20
        evidence = {"pairs": [0.4] * 9, "interval": [0.97 * ratio, 1.03 * ratio], "bar": 1.5}
        peaks = {"student_peak_bytes": 9e8, "baseline_peak_bytes": 1e9, "memory_bar": 1.3}
        trace = {
            "breakdown": {"cpu": [["data loading", 10], ["operators", 30], ["Python and other", 5]]}
        }
        more = (
            a_check(outcome="passed", points=6, evidence=evidence),
            a_silent_check(id="memory", outcome="failed", evidence=peaks),
            a_silent_check(
                id="trace",
                outcome="failed",
                measured=HOSTILE,
                why=HOSTILE,
                try_=HOSTILE,
                evidence=trace,
            ),
        )
        parts = (*result.parts[1:], a_part("part3_amp", "Mixed precision", *more))
        store.save(replace(result, parts=parts, notes=(HOSTILE,)), out)
        store.keep(Submission(result.submission, "", {"amp_results.csv": CSV}), out)
    times.write(out, {"student01": Handed(at=moment("2027-01-22T20:00+05:30"))})  # a column more
    write(out, rules(Course(find_root()).config.labs, out), anonymous=True)
    return out


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = chromium.start(tmp_path_factory.mktemp("chromium"))
    yield found
    found.quit()


@pytest.fixture
def opened(browser, pages):
    """Open a page at a width, in light or dark, on a screen or on paper."""

    def get(page="class", width=1200, scheme="light", media="screen"):
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"media": media, "features": features}
        )
        browser.get((pages / PAGES[page]).as_uri())
        return browser

    return get


def names(page) -> list[str]:
    """Who the class table shows, in its order."""
    rows = "[...document.querySelectorAll('#class tbody tr')].filter(row => !row.hidden)"
    return page.execute_script(f"return {rows}.map(row => row.cells[0].textContent.trim())")


def scores(page) -> list[float]:
    cells = "[...document.querySelectorAll('#class tbody tr')].map(row => Number(row.cells[1].dataset.value))"
    return page.execute_script(f"return {cells}")


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("page", PAGES)
def test_no_page_is_wider_than_its_window_or_complains(opened, page, width):
    """Wide tables scroll inside their own box, which is there; nothing that a student wrote ran."""
    found = opened(page, width)

    assert width == found.execute_script(
        "return document.documentElement.scrollWidth"
    )  # innerWidth would grow with it
    assert [] == found.get_log("browser")
    assert "run" != found.title
    assert [] == found.find_elements("css selector", "main img")


@pytest.fixture(scope="module")
def long_lab(tmp_path_factory):
    """A class with seven parts, lateness and a long name."""
    out = tmp_path_factory.mktemp("long")
    parts = [a_part(f"part{n}_of_some_length", "A title", a_check()) for n in range(1, 7)]
    whole = [*parts, replace(a_part("bonus", "Bonus", a_check()), bonus=True)]
    for n in range(5):
        store.save(a_result(*whole, submission=f"student{n}"), out)
    times.write(
        out,
        {
            "student1": Handed(at=moment("2027-01-22T20:00+05:30")),
            "student2": Handed(marked_late=True),
        },
    )
    (out / "roster.csv").write_text(
        "student,name\n" + "".join(f"student{n},Ada Augusta Lovelace\n" for n in range(6))
    )
    write(out, rules(Course(find_root()).config.labs, out))
    return out


@pytest.mark.parametrize(("width", "until"), [(1920, "bonus"), (1000, "bonus"), (400, "Failed")])
def test_a_lab_of_seven_parts_fits_its_window(browser, long_lab, width, until):
    """On a phone what is owed and failed is in sight, and the parts are a swipe away."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get((long_lab / "index.html").as_uri())
    found = browser.execute_script(
        "return [...document.querySelectorAll('#class thead th')].map(h => [h.innerText.trim(), h.getBoundingClientRect().right])"
    )
    ends = {name: right for name, right in found if name}

    assert ends[until] <= width
    assert "part1" in ends


# How far each text is apart from what is behind it: the contrast of WCAG, at worst.
CONTRAST = """
const light = (colour) => { const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map(v => v / 255).map(
  v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
  if (!c.startsWith("rgba(0, 0, 0, 0")) return c; } return "rgb(255, 255, 255)"; };
return [...document.querySelectorAll("body *")].filter(e => e.checkVisibility() && !e.closest("svg, .unseen, .skip") &&
  [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())).map(e => {
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
    return [(a + 0.05) / (b + 0.05), e.className + " " + e.textContent.trim().slice(0, 30)]; })
  .filter(([ratio]) => ratio < 4.5);
"""


@pytest.mark.parametrize(
    ("scheme", "media"), [("light", "screen"), ("dark", "screen"), ("dark", "print")]
)
@pytest.mark.parametrize("page", PAGES)
def test_every_text_stands_out_from_what_is_behind_it(opened, page, scheme, media):
    """4.5 to 1, in light, in dark, and on paper, which is light whatever the screen is."""
    assert [] == opened(page, scheme=scheme, media=media).execute_script(CONTRAST)


def test_dark_screens_get_a_dark_page_and_paper_a_light_one(opened):
    ask = "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
    light, dark, paper = (
        opened(scheme=scheme, media=media).execute_script(ask)
        for scheme, media in (("light", "screen"), ("dark", "screen"), ("dark", "print"))
    )

    assert min(light) > 200
    assert max(dark) < 80
    assert [255, 255, 255] == paper


@pytest.mark.parametrize("page", PAGES)
def test_whatever_can_be_reached_has_a_name_for_who_hears_it(opened, page):
    found = opened(page).execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    reached = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in found
        if node.get("role", {}).get("value")
        in ("button", "link", "searchbox", "combobox", "image", "region")
    ]

    assert reached
    assert [] == [one for one in reached if not one[1]]


def test_the_first_key_leads_past_the_head_of_a_page(opened):
    page = opened()
    page.switch_to.active_element.send_keys("\ue004")  # Tab

    assert "Skip to the results" == page.switch_to.active_element.text


def test_a_head_sorts_the_class_by_click_and_by_key(opened):
    """Scores start with the highest, and a second time turns the order."""
    page = opened()
    head = page.find_elements("css selector", "#class thead button")[1]
    head.click()
    down = scores(page)
    head.send_keys("\ue007")  # Enter
    up = scores(page)

    assert sorted(down, reverse=True) == down
    assert sorted(up) == up != down
    assert "ascending" == page.find_elements("css selector", "#class thead th")[1].get_attribute(
        "aria-sort"
    )


def test_typing_a_name_leaves_those_that_hold_it(opened):
    """The rest of the table is hidden, and the count is said to who hears the page."""
    page = opened()
    page.find_element("id", "filter").send_keys("STUDENT03")

    assert ["student03"] == names(page)
    assert "1 of 30" == page.find_element("id", "shown").text


def test_a_kind_of_row_can_be_asked_for(opened):
    page = opened()
    shown = []
    for mark in ("hand", "fault"):
        page.find_element("css selector", f"#marks option[value={mark}]").click()
        shown.append(len(names(page)))

    assert [0, 30] == shown


def test_a_name_opens_its_page_and_the_board_opens_to_its_end(opened):
    page = opened()
    more = page.find_element("css selector", ".rest summary")
    more.send_keys("\ue007")
    last = page.find_elements("css selector", ".rest a")[-1]

    assert "10 more" == more.text
    assert "student00" == last.text
    last.click()
    assert "student00" == page.find_element("tag name", "h1").text


def test_the_anonymous_page_names_nobody_and_leads_nowhere(opened):
    """Whoever the name means finds it on the own feedback page."""
    found = opened("anonymous")
    text, links = found.page_source, found.find_elements("css selector", "a[href*=feedback]")
    pseudonym = opened("feedback").find_element("css selector", "header .quiet strong").text

    assert not re.search(r"student\d", text)
    assert [] == links
    assert pseudonym in text


FOLD = "details.folded"


def test_what_passed_is_folded_and_a_key_opens_it(opened):
    """On a phone the line of the fold is as wide as the checks above it."""
    page = opened("feedback", 380)
    fold = page.find_element("css selector", FOLD)
    check = fold.find_element("css selector", ".check")
    hidden = not check.is_displayed()
    fold.find_element("tag name", "summary").send_keys("\ue007")  # Enter

    assert hidden
    assert check.is_displayed()
    assert 380 == page.execute_script("return document.documentElement.scrollWidth")


def test_a_link_to_a_passed_check_opens_its_fold(opened):
    page = opened("feedback")
    target = page.find_element("css selector", f"{FOLD} .check")
    page.execute_script("location.hash = arguments[0].id", target)
    page.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0]))")

    assert target.is_displayed()


def test_what_passed_is_printed(opened):
    """Paper has no fold to open."""
    ask = f"return document.querySelector('{FOLD} .check').checkVisibility()"
    shown = [opened("feedback", media=media).execute_script(ask) for media in ("screen", "print")]

    assert [False, True] == shown
