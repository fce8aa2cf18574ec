"""Settings with which gunicorn serves the site, wherever it runs.

gunicorn --config python:dashboard.site.web_server --bind ADDRESS
"""

wsgi_app = "dashboard.wsgi"
workers = 2
# Django and the statistics are loaded once: the processes share their memory
preload_app = True
worker_class = "dashboard.site.web_worker.SharingWorker"  # has its threads
# Longer than clients and proxies keep an idle connection. With 2 s, the default, whoever asks every
# 2 s now and then sends into a connection that is just being closed, and reads "connection reset".
keepalive = 75
# The most that it allows: the form that measures all that is unclear gets its benchmarks by name
limit_request_line = 8190
sendfile = False  # it would wait for a slow client without limit: see ClientSocket
control_socket_disable = True
forwarder_headers = ""  # no header says which page is asked for, whoever sends it
loglevel = "warning"
