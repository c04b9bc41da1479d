#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 400
# The HTML page, as a browser lays it out: nothing from elsewhere, nothing cut or overlapping, readable in light and dark.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-bench.sh
. "$SOURCE/tests/cases/lib-bench.sh"
mkdir plain inside third
bench_ends 0 . --quick --runs 2 --workload copy,xml,sqlite --plain plain --inside inside \
	--compare 'a<b>&"c=third' --html page.html --json r.json
equal "$(json 'r["places"][2]["name"]' r.json)" 'a<b>&"c' "a name with signs of HTML"
# Also without a browser: it is one file.
grep -niE 'src=|href=|url\(|@import|https?:|<script|<link' page.html && fail "it loads something"
grep -q '<b>' page.html && fail "a name is not escaped"
grep -q 'a&lt;b&gt;&amp;&quot;c' page.html || fail "a name is missing"
grep -q 'How to repeat it' page.html || fail "how to repeat it is missing"
py - page.html <<'END'
import html.parser, sys
class Balance(html.parser.HTMLParser):
    single, open = {"meta", "line", "rect", "path", "br"}, []
    def handle_starttag(self, tag, attrs):
        if tag not in self.single:
            self.open.append(tag)
    def handle_startendtag(self, tag, attrs):
        pass
    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (tag, self.getpos())
balance = Balance()
balance.feed(open(sys.argv[1], encoding="utf-8").read())
balance.close()
assert not balance.open, balance.open
END

browser=
for name in chromium chromium-browser google-chrome; do
	[ -n "$browser" ] || ! command -v "$name" >/dev/null || browser=$name
done
[ -n "$browser" ] || skip "no browser (chromium) to lay the page out"
# The checks run in the page; what they find comes back in an attribute.
cat >checks.html <<'END'
<script>
const wrong = [], say = (...words) => wrong.push(words.join(" "));
const number = text => text.match(/[\d.]+/g).slice(0, 3).map(Number);
const light = rgb => {
	const [r, g, b] = rgb.map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
	return .2126 * r + .7152 * g + .0722 * b;
};
const contrast = (a, b) => {
	const [x, y] = [light(number(a)), light(number(b))].sort((p, q) => q - p);
	return (x + .05) / (y + .05);
};
const page = getComputedStyle(document.body).backgroundColor;
for (const e of document.querySelectorAll("h1,h2,p,td,th,code,pre,svg text")) {
	const style = getComputedStyle(e), colour = e.closest("svg") ? style.fill : style.color;
	if (contrast(colour, page) < 4.5) say("hard to read:", colour, "on", page, e.textContent.slice(0, 40));
}
for (const e of document.querySelectorAll("svg rect, .key")) {
	const style = getComputedStyle(e), colour = e.closest("svg") ? style.fill : style.backgroundColor;
	if (contrast(colour, page) < 3) say("hard to see:", colour, "on", page);
}
if (document.documentElement.scrollWidth > innerWidth) say("wider than the window");
for (const svg of document.querySelectorAll("svg")) {
	const frame = svg.getBoundingClientRect(), texts = [...svg.querySelectorAll("text")];
	if (frame.width < 300 || frame.height < 60) say("a chart of", frame.width, "by", frame.height);
	const boxes = texts.map(t => t.getBoundingClientRect());
	boxes.forEach((b, i) => {
		if (b.left < frame.left - 1 || b.right > frame.right + 1 || b.top < frame.top - 1 || b.bottom > frame.bottom + 1)
			say("cut:", texts[i].textContent);
		for (let k = i + 1; k < boxes.length; k++) {
			const c = boxes[k], w = Math.min(b.right, c.right) - Math.max(b.left, c.left),
				h = Math.min(b.bottom, c.bottom) - Math.max(b.top, c.top);
			if (w > 1 && h > b.height / 2) say("overlap:", texts[i].textContent, "and", texts[k].textContent);
		}
		for (const r of svg.querySelectorAll("rect")) {
			const c = r.getBoundingClientRect();
			if (Math.min(b.right, c.right) - Math.max(b.left, c.left) > 1 &&
			    Math.min(b.bottom, c.bottom) - Math.max(b.top, c.top) > b.height / 2)
				say("text on a bar:", texts[i].textContent);
		}
	});
}
const out = document.createElement("result");
out.dataset.dark = matchMedia("(prefers-color-scheme: dark)").matches;
out.dataset.loaded = performance.getEntriesByType("resource").length;
out.dataset.bars = [...document.querySelectorAll("svg")].map(s => s.querySelectorAll("rect").length);
out.dataset.page = page;
out.dataset.wrong = wrong.slice(0, 8).join("; ");
document.body.append(out);
</script>
END
cat page.html checks.html >checked.html
lay_out() {
	timeout 90 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$CASE_TMP/profile" \
		--blink-settings="preferredColorScheme=$1" --window-size="$2,900" --dump-dom "file://$CASE_TMP/checked.html" \
		2>browser.err | grep -o '<result [^>]*>' >"$CASE_TMP/found" || {
		tail -n 5 browser.err
		fail "$browser does not show the page"
	}
}
found() { sed -n "s/.*data-$1=\"\\([^\"]*\\)\".*/\\1/p" found; }
rows=$(json 'len(r["results"])' r.json)
for scheme in 0 1; do
	for width in 500 1200; do
		lay_out $scheme $width
		equal "$(found dark)" "$([ $scheme = 0 ] && echo true || echo false)" "the scheme asked for"
		equal "$(found wrong)" "" "what is wrong, $width wide, scheme $scheme"
		equal "$(found loaded)" 0 "what it loaded"
		# A bar a figure and measured directory; for the processor a bar a workload and directory.
		equal "$(found bars)" "$((rows * 2)),9" "bars"
		pages="${pages:-} $(found page)"
	done
done
equal "$(tr ' ' '\n' <<<"${pages//, /,}" | grep . | sort -u | wc -l)" 2 "backgrounds"
