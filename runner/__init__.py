"""The Celery worker of Compilewatch: it owns one device, runs the suite as a command, and reports
over HTTP.
"""
