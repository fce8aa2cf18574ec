"""What gunicorn serves; how, is in `web_server`."""

import gc
import os

import scipy.stats  # noqa: F401  # most pages need it: loaded before the first request
from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
application = get_wsgi_application()
# Django would load the pages at the first request, in each of the processes that are forked
get_resolver().url_patterns  # noqa: B018
# A page of 2,000 cases makes 100,000 small objects that live as long as the request: with Python's
# own thresholds the collector takes two fifths of its time looking at them. What is loaded by now
# lives for ever.
gc.freeze()
gc.set_threshold(100_000, 50, 100)
