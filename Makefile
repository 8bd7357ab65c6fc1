# alds: what a contributor does every day. `make` lists it.

.DEFAULT_GOAL := help
SHELL := /bin/bash

# The linter, built from its module so that everybody uses this one. It is kept outside of
# the checkout, for the next one.
GOLANGCI_VERSION := v2.15.0
TOOLS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/alds-tools
GOLANGCI := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)

# How deep `make race` and `make on-server` test: quick or long.
TIER ?= quick

# The race detector. It looks at all but SQLite, which is C in the form of Go: watched,
# that takes fifteen times as long, and a race in it is not ours.
RACE := -timeout 60m -race -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false

# Packages where goroutines meet, besides those of internal/store. Only in internal/store does that
# depend on the database, so these leave out SQLite.
RACED := ./internal/events/webhook/... ./internal/jobs/... ./internal/app/... \
	./internal/write/asset/... ./internal/access/auth/... ./internal/write/bulk/... ./internal/httpapi/... \
	./internal/limits/inbound/... ./internal/limits/admission/... ./internal/limits/memory/...

# Packages whose answers depend on the database server: .ci/run tests these on
# every server that is supported. It leaves out the examples of the documents, which quick runs.
ON_EACH := ./internal/store/db ./internal/store/connection ./internal/store/migrate ./internal/query/sqlgen ./internal/query/find \
	./internal/write/asset/... ./internal/write/seed ./internal/write/requests ./internal/events/webhook ./internal/query/history \
	./internal/test/spectest ./internal/test/difftest ./internal/test/modeltest

FUZZTIME ?= 30s
URL ?= http://127.0.0.1:8080/alds

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

.PHONY: test
test: ## the quick tests, about 3 minutes
	go run ./internal/test/testall

.PHONY: check
check: ## the gate: all that must be green before a change lands, a quarter of an hour
	.ci/run

.PHONY: long
long: TIER = long
long: $(if $(filter race,$(AREA)),,areas) $(if $(filter-out race,$(AREA)),,race) ## everything at full depth; AREA=rights for one area, of `go run ./internal/test/testall list`, or race

.PHONY: areas
areas:
	REQUIRE_SERVICES=1 go run ./internal/test/testall long $(AREA) -count=1

.PHONY: race
race: ## the race detector on the packages where goroutines meet
	go run ./internal/test/testall $(TIER) -count=1 $(RACE) ./internal/store/db ./internal/store/connection ./internal/store/migrate
	go run ./internal/test/testall $(TIER) -count=1 $(RACE) -skip '/^sqlite$$' $(RACED)

.PHONY: on-server
on-server: ## what depends on the database server, on that of ALDS_TEST_MYSQL
	go run ./internal/test/testall $(TIER) -count=1 -skip '/^sqlite$$|TiDB$$|^TestExamples$$' $(ON_EACH)

.PHONY: golden
golden: ## rewrite the golden cases of the query stages; the diff is the review
	go test ./internal/query/token ./internal/query ./internal/query/sqlgen -update
	git diff --stat -- '*.txtar'

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME
	@for file in $$(git grep -l '^func Fuzz' -- '*_test.go'); do \
		for target in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9]*)\(.*/\1/p' $$file); do \
			echo "== $$target in $$(dirname $$file)"; \
			go test ./$$(dirname $$file) -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) || exit 1; \
		done; \
	done

$(GOLANGCI):
	mkdir -p $(TOOLS)
	GOFLAGS= GOBIN=$(TOOLS) nice go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(TOOLS)/golangci-lint $@

.PHONY: lint
lint: $(GOLANGCI) ## lint, and check the format
	$(GOLANGCI) run ./...

.PHONY: run
run: ## run alds in one process on 127.0.0.1:8080, data in ./alds-data
	go run -v ./cmd/standalone

.PHONY: build
build: ## build the commands into bin/
	CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/...

.PHONY: up
up: ## start everything with docker compose
	docker compose up --build --detach

.PHONY: down
down: ## stop what `make up` started; data stays
	docker compose down

.PHONY: longest
longest: ## print the ten longest functions
	@git ls-files '*.go' | grep -v _test.go | xargs awk ' \
		FNR == 1 { open = 0 } \
		/^func / { name = $$0; sub(/ *\{.*/, "", name); start = FNR; open = !/\}$$/ } \
		/^\}/ && open { print FNR - start + 1 "\t" FILENAME ":" start "\t" name; open = 0 }' | sort -rn | head -10

.PHONY: bench
bench: ## load FILE=backlog.csv.gz into the service at URL and read it back
	go run ./bench/load -file "$(FILE)" -url "$(URL)" -verify
