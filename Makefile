# The commands that contributors to alds use every day. `make` lists them.

.DEFAULT_GOAL := help
SHELL := /bin/bash

# The linter. It is built from its Go module, so that everybody uses the same version. The
# program is stored outside of the checkout, so that other checkouts can use it, too.
GOLANGCI_VERSION := v2.15.0
TOOLS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/alds-tools
GOLANGCI := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)

# The test tier that `make race` and `make on-server` run: quick or long.
TIER ?= quick

# The flags for the race detector. It watches all packages except those of SQLite, which is C
# translated to Go. With the detector, SQLite would take fifteen times as long, and a race in SQLite
# would not be a fault of alds.
RACE := -timeout 60m -race -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false

# The packages in which goroutines share data, without the packages of internal/store. Here the use
# of goroutines does not depend on the database, so `make race` skips the tests on SQLite.
RACED := ./internal/events/webhook ./internal/jobs ./internal/app ./internal/write/asset ./internal/access/auth \
	./internal/write/bulk ./internal/httpapi ./internal/limits/inbound ./internal/limits/admission ./internal/limits/memory

# The packages whose results depend on the database server. .ci/run tests them on every supported
# server. It leaves out the examples in the documents (TestExamples), which the quick tests run.
ON_EACH := ./internal/store/db ./internal/store/connection ./internal/store/migrate ./internal/query/sqlgen ./internal/query/find \
	./internal/write/asset/... ./internal/write/seed ./internal/write/requests ./internal/events/webhook ./internal/query/history \
	./internal/test/spectest ./internal/test/difftest ./internal/test/modeltest

FUZZTIME ?= 30s
URL ?= http://127.0.0.1:8080/alds

.PHONY: help
help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

.PHONY: test
test: ## run the quick tests, about 3 minutes
	go run ./internal/test/testall

.PHONY: check
check: ## run the gate: everything that must pass before a change lands, a quarter of an hour
	.ci/run

.PHONY: long
long: TIER = long
long: $(if $(filter race,$(AREA)),,areas) $(if $(filter-out race,$(AREA)),,race) ## run all tests at full depth; AREA=rights runs one area: race, or one that `go run ./internal/test/testall list` prints

.PHONY: areas
areas:
	REQUIRE_SERVICES=1 go run ./internal/test/testall long $(AREA) -count=1

.PHONY: race
race: ## run the race detector on the packages in which goroutines share data
	go run ./internal/test/testall $(TIER) -count=1 $(RACE) ./internal/store/db ./internal/store/connection ./internal/store/migrate
	go run ./internal/test/testall $(TIER) -count=1 $(RACE) -skip '/^sqlite$$' $(RACED)

.PHONY: on-server
on-server: ## run the tests that depend on the database server, on the server in ALDS_TEST_MYSQL
	go run ./internal/test/testall $(TIER) -count=1 -skip '/^sqlite$$|TiDB$$|^TestExamples$$' $(ON_EACH)

.PHONY: golden
golden: ## rewrite the golden cases of the query stages; review the diff
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
down: ## stop the containers that `make up` started; the data is kept
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
