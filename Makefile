# Needs make and python3 alone: everything else is installed by dashboard/local, which each target asks first.
PYTHON ?= python3
LOCAL = @$(PYTHON) -m dashboard.local

.DEFAULT_GOAL := help
.PHONY: help up demo test test-gpu test-slow test-bare drill chaos lint lock

help:       ## Say what there is (the default)
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 18

up:         ## Install what is missing, start everything, print the address. Ctrl-C stops it, data stay in var/
	$(LOCAL) up

demo:       ## The site with what was recorded, on H100s and with a real alert, without measuring anything; data in var/demo/
	$(LOCAL) demo

test:       ## The whole test suite with real Postgres, broker and browser. One test: make test ARGS="-k name"
	$(LOCAL) test $(ARGS)

test-gpu:   ## The tests that need a CUDA device
	$(LOCAL) test-gpu $(ARGS)

test-slow:  ## The tests that take minutes
	$(LOCAL) test-slow $(ARGS)

test-bare:  ## Prove `make up` on a bare Debian in a chroot (root, debootstrap and network needed)
	$(LOCAL) test-bare $(ARGS)

drill:      ## Make real changes on a system of its own, print what it finds. A part: make drill ARGS="--only numerics"
	$(LOCAL) drill $(ARGS)

chaos:      ## Kill, freeze and fill at random in a running system, count what was lost. make chaos ARGS="--quick"
	$(LOCAL) chaos $(ARGS)

lint:       ## Style, types, import rules, migrations, deploy checks (also part of make test)
	$(LOCAL) lint

lock:       ## Write requirements.txt and tests/requirements.txt anew from pyproject.toml
	$(LOCAL) lock $(ARGS)
