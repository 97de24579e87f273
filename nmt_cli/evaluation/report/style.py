"""The style sheet of the report; colors that tell systems apart, also for people who see few colors."""

COLORS = 6  # of systems in a chart: --c0 … --c5 (Okabe and Ito 2008, adapted)
REST = COLORS  # of all others: --c6

STYLE = """
:root { color-scheme: light dark;
  --paper: #ffffff; --panel: #f6f7f9; --ink: #1c2128; --faint: #5b6572; --line: #d8dde3; --accent: #0b62b0;
  --extra: #ffdfd6; --extra-ink: #8f2a0a; --missing: #d9f0dc; --missing-ink: #17602b; --warn: #fff4d6;
  --c0: #0b62b0; --c1: #d2570a; --c2: #0a7d5d; --c3: #a83a86; --c4: #8a6d00; --c5: #454d57; --c6: #b3bac3; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #14171c; --panel: #1d2128; --ink: #e4e8ed; --faint: #9aa5b1; --line: #363d47; --accent: #6db3f2;
  --extra: #55261a; --extra-ink: #ffc4b0; --missing: #1c4128; --missing-ink: #b4e8c0; --warn: #3a3117;
  --c0: #6db3f2; --c1: #ff9c5a; --c2: #4fcf9f; --c3: #e58fc8; --c4: #e0c34a; --c5: #d5dbe1; --c6: #5d6773; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 1080px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; } h2 { font-size: 1.2rem; margin: 2.5rem 0 .75rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .5rem; } p { margin: .25rem 0 .75rem; }
.faint, figcaption { color: var(--faint); } code { font-size: .85em; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
table.wide { width: 100%; } th, td { padding: .35rem .7rem; text-align: right; white-space: nowrap; }
th { color: var(--faint); font-weight: 600; border-bottom: 1px solid var(--line); }
td { border-bottom: 1px solid var(--line); } th:first-child, td:first-child { text-align: left; white-space: normal;
  overflow-wrap: anywhere; min-width: 9rem; }
td.score { font-weight: 600; } tr.baseline td { background: var(--panel); }
.badge { font-size: .75rem; color: var(--faint); border: 1px solid var(--line); border-radius: 1rem; padding: 0 .5rem;
  margin-left: .4rem; white-space: nowrap; }
ul.warnings { list-style: none; padding: 0; margin: 0; }
ul.warnings li { background: var(--warn); border-radius: .4rem; padding: .5rem .8rem; margin-bottom: .5rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); gap: 1.25rem;
  align-items: start; }
figure { margin: 0; padding: 1rem; background: var(--panel); border-radius: .6rem; min-width: 0; }
figure h3 { margin: 0 0 .25rem; } figure svg { width: 100%; height: auto; display: block; }
figcaption { font-size: .85rem; }
.legend { display: flex; flex-wrap: wrap; gap: .15rem 1rem; font-size: .85rem; margin: .25rem 0 .25rem; }
.legend i { display: inline-block; width: .8rem; height: .8rem; border-radius: 50%; margin-right: .35rem;
  vertical-align: -.08rem; }
figure svg text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: var(--faint); }
figure svg text.strong { fill: var(--ink); }
svg .grid { stroke: var(--line); stroke-width: 1; } svg .zero { stroke: var(--faint); stroke-width: 1; }
details.system { border-top: 1px solid var(--line); padding: .4rem 0; }
summary { cursor: pointer; } details.system > summary { font-weight: 600; padding: .3rem 0; }
.example { background: var(--panel); border-radius: .6rem; padding: .7rem 1rem; margin: .6rem 0; }
.example .where { display: flex; gap: .6rem; flex-wrap: wrap; font-size: .85rem; color: var(--faint); }
.row { display: grid; grid-template-columns: 7.5rem 1fr; gap: .1rem .8rem; padding: .15rem 0; }
.row .label { color: var(--faint); font-size: .85rem; padding-top: .1rem; overflow-wrap: anywhere; }
.row .text { overflow-wrap: anywhere; unicode-bidi: plaintext; white-space: pre-wrap; }
mark { border-radius: .2rem; padding: 0 .1rem; }
mark.extra { background: var(--extra); color: var(--extra-ink); }
mark.missing { background: var(--missing); color: var(--missing-ink); }
.attention { margin-top: .4rem; font-size: .85rem; color: var(--faint); }
.attention .picture { display: inline-block; max-width: 100%; overflow: auto;
  background: #ffffff; border-radius: .4rem; margin-top: .4rem; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dl.facts dt { color: var(--faint); }
dl.facts dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 600px) { .row { grid-template-columns: 1fr; } dl.facts { grid-template-columns: 1fr; } }
@media print { body { max-width: none; } details.system { break-inside: avoid; } }
"""
