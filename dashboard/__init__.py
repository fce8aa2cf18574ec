"""The Django project and its one app. Light to import: dashboard.local runs before Django is
installed.
"""
