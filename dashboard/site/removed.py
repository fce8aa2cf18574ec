"""Parts of the site that were removed: where their addresses lead, what replaces their calls."""

FACTORIALS = (
    "Factorials were removed: compare builds that differ in one factor. The runs of earlier ones "
    "are under /runs/, labelled with their levels."
)
PAGES = {  # beginning of an address, a pattern -> the page that replaces it
    "factorials/": "/runs/",
    "docs/factorials/": "/docs/versions/",
    "docs/coverage/": "/docs/reference-models/",
    "docs/results-compiling/": "/docs/results/",
    "docs/results-suite/": "/docs/results/",
    "embed/(?P<page>series/.*)": "/%(page)s",
    "views/": "/tokens/",
    "advisor/$": "/benchmarks/",
    "(comparisons|bisections)/$": "/experiments/",
    "alerts/(quality/|report/|report.md)": "/alerts/",
    "alerts/(?P<alert>[0-9]+)/evidence.zip": "/alerts/%(alert)s/report.zip",
    "alerts/(?P<alert>[0-9]+)/pairs.json": "/alerts/%(alert)s/",
    "jobs/pair/calls/": "/change/compile/",
    "jobs/pair/": "/change/",
}
CALLS = {"factorials": FACTORIALS}  # first part of a call -> the sentence that answers it
COMMANDS = {  # of manage.py
    "triage_report": "triage_report was removed: a rule sends what is new and open as a digest.",
    "exchange_factors": FACTORIALS,
    "measure_list": "measure_list was removed: docs/offline.md measures with the suite alone.",
    "generate_history": "generate_history was removed: `make demo` shows recorded results.",
}
