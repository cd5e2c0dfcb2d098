# `make help` says what there is. Everything sets itself up: nothing needs to be installed first but Go, Node and make.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SECONDEXPANSION:
MAKEFLAGS += --no-builtin-rules
# Hundreds of processes load the same npm, compilers and SDKs; Node keeps what it has compiled of them.
export NODE_COMPILE_CACHE := $(CURDIR)/.cache/node

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
E2E_APPS := e2e/apps/v4 e2e/apps/v5 e2e/apps/v4beta
DEMO_APP := examples/hono-v4
BENCH_APPS := bench/apps/v4 bench/apps/v5
APPS := $(E2E_APPS) $(BENCH_APPS) $(DEMO_APP)
SUITES := e2e/suites/v4 e2e/suites/v5
BUNDLE := .well-known/workflow/v1/manifest.json
PACKAGES := node_modules/.package-lock.json
NPM_CI := npm ci --no-audit --no-fund --loglevel=error >/dev/null
SAY = @printf '\n\033[1m── %s\033[0m\n'

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

## Building

.PHONY: build
build: ## build bin/world-redis and bin/workflow-redis-setup
	@mkdir -p bin
	CGO_ENABLED=0 go build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/ ./cmd/...

.PHONY: client
client: client/dist/index.js ## build the TypeScript client into client/dist

client/$(PACKAGES): client/package.json client/package-lock.json
	cd client && $(NPM_CI)
	@touch $@

client/dist/index.js: client/$(PACKAGES) client/tsconfig.json client/package.json client/scripts/build.mjs client/scripts/bundled.mjs $(wildcard client/src/*.ts client/src/*.mts client/src/*/*.ts)
	cd client && npm run --silent build
	@touch $@

# Each app has its own package.json, its own Node 22 and its own copy of the SDK.
$(APPS:%=%/$(PACKAGES)) $(SUITES:%=%/$(PACKAGES)) bench/apps/bullmq/$(PACKAGES): %/$(PACKAGES): %/package.json %/package-lock.json scripts/node22.sh
	cd $* && $(NPM_CI)
	@scripts/node22.sh $* >/dev/null
	@touch $@

# The end-to-end apps run the same workflows, each in a copy of its own: a bundler follows a link back to where it points.
# The folder modern is for v4 and v5, which compile what 4.0.1-beta does not.
WORKFLOWS := e2e/apps/workflows
workflows = $(wildcard $(WORKFLOWS)/*.ts $(WORKFLOWS)/$1/*.ts $(if $(filter v4 v5,$1),$(WORKFLOWS)/modern/*.ts))
$(E2E_APPS:%=%/$(BUNDLE)): $(wildcard $(WORKFLOWS)/*.ts $(WORKFLOWS)/*/*.ts)

# So do the bench's.
BENCH_WORKFLOWS := bench/apps/workflows
$(BENCH_APPS:%=%/$(BUNDLE)): $(wildcard $(BENCH_WORKFLOWS)/*.ts)

$(APPS:%=%/$(BUNDLE)): %/$(BUNDLE): %/$(PACKAGES) $$(wildcard $$*/workflows/*.ts)
	$(if $(filter $(E2E_APPS),$*),@mkdir -p $*/workflows && cp $(call workflows,$(notdir $*)) $*/workflows/)
	$(if $(filter $(BENCH_APPS),$*),@mkdir -p $*/workflows && cp $(BENCH_WORKFLOWS)/*.ts $*/workflows/)
	cd $* && PATH="$$PWD/node_modules/node/bin:$$PATH" node_modules/.bin/workflow build >/dev/null
	@touch $@

# The binaries that the npm packages carry, by the names that Node has for platforms.
BINARIES := $(addprefix dist/binaries/,linux-x64 linux-arm64 darwin-x64 darwin-arm64 win32-x64)
goos = $(subst win32,windows,$(firstword $(subst -, ,$1)))
goarch = $(subst x64,amd64,$(lastword $(subst -, ,$1)))

.PHONY: $(BINARIES)
$(BINARIES):
	@CGO_ENABLED=0 GOOS=$(call goos,$(@F)) GOARCH=$(call goarch,$(@F)) go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $@ ./cmd/world-redis

.PHONY: dist
dist: build client $(BINARIES) ## make what is published, in dist: world-redis.cjs and the npm packages of the client and of the service
	@rm -rf dist/*.tgz dist/*.cjs
	@bin/world-redis client >dist/world-redis.cjs
	@cd client && npm pack --ignore-scripts --silent --pack-destination ../dist >/dev/null
	@node npm/pack.mjs dist/binaries dist
	@ls -l dist

## Trying

.PHONY: demo
demo: ## run one order workflow on embedded Redis and print its timeline
	@$(MAKE) --no-print-directory -j3 example
	@"$$(scripts/node22.sh $(DEMO_APP))" $(DEMO_APP)/demo.mjs bin/world-redis

.PHONY: example
example: build client $(DEMO_APP)/$(BUNDLE) ## install and build the example app, to run it by hand

## Testing

# Mostly waiting for the network, so several at a time.
.PHONY: packages
packages:
	$(SAY) 'packages of the client, the apps and the suites'
	@$(MAKE) --no-print-directory -j4 client $(E2E_APPS:%=%/$(BUNDLE)) $(SUITES:%=%/$(PACKAGES))

# In three steps, so that the machine is busy and never crowded. The Go parts compute; the packages, the linters of
# TypeScript and the examples wait for the network and for builds beside them. The SDK's suites have limits of ten seconds,
# so only the client's tests run with them. The end-to-end tests have the machine to themselves.
.PHONY: test
test: need-redis ## lint, vet, race tests, client tests, the SDK's suites, three examples, end-to-end tests
	@$(MAKE) --no-print-directory -j2 test-of-go test-of-packages
	@$(MAKE) --no-print-directory -j2 test-client test-suites
	@$(MAKE) --no-print-directory e2e

.PHONY: test-of-go
test-of-go:
	@for part in lint-go test-go; do $(MAKE) --no-print-directory "$$part"; done

.PHONY: test-of-packages
test-of-packages:
	@for part in packages lint-ts lint-package lint-openapi test-examples; do $(MAKE) --no-print-directory "$$part"; done

# Of the end-to-end tests, the six kinds of work on one Redis, with each SDK.
SIX_KINDS := --test --test-reporter=spec --test-name-pattern='on server Redis, fast paths: all' e2e/workflows.test.mjs

# A service or a client of an earlier commit with the other one of this one. OLDER is a commit, a tag or a branch.
OLDER ?= HEAD~100

.PHONY: older
older: build client e2e/apps/v4/$(BUNDLE) e2e/apps/v5/$(BUNDLE) need-redis ## an older client with this service, and the reverse (OLDER=v0.1.0)
	@older="$$(scripts/older.sh '$(OLDER)')"; node="$$(scripts/node22.sh e2e/apps/v4)"; \
	printf '\n\033[1m── %s\033[0m\n' "the service of $(OLDER)"; E2E_BINARY="$$older/bin/world-redis" "$$node" $(SIX_KINDS); \
	printf '\n\033[1m── %s\033[0m\n' "the client of $(OLDER)"; E2E_PROJECT="$$older/project" "$$node" $(SIX_KINDS)

# EXAMPLES='hono nitro --sdk v5 --mode production' runs some of them.
.PHONY: examples
examples: build client e2e/apps/v4/$(BUNDLE) e2e/apps/v5/$(BUNDLE) e2e/managers/$(PACKAGES) e2e/node24/$(PACKAGES) need-redis ## every example in its framework; both npm packages, installed by npm, Yarn 4, Plug'n'Play, pnpm and Bun; workflows on Node 24
	$(SAY) 'package managers'
	@$(MAKE) --no-print-directory "dist/binaries/$$(node -p '`$${process.platform}-$${process.arch}`')"
	@E2E_MANAGERS=all "$$(scripts/node22.sh e2e/apps/v4)" --test --test-reporter=spec e2e/packages.test.mjs e2e/managers/launcher.test.mjs
	$(SAY) 'Node 24'
	@E2E_NODE="$(CURDIR)/e2e/node24/node_modules/node/bin/node" "$$(scripts/node22.sh e2e/apps/v4)" $(SIX_KINDS)
	$(SAY) 'examples'
	@"$$(scripts/node22.sh e2e/apps/v4)" examples/run.mjs $(EXAMPLES)

.PHONY: test-examples
test-examples: build client e2e/apps/v4/$(PACKAGES) need-redis ## the examples of the three frameworks that are used most, in production
	$(SAY) 'three examples'
	@"$$(scripts/node22.sh e2e/apps/v4)" examples/run.mjs --tested 'make test-examples' --sdk v4 --mode production

# Where npm does not run install scripts, Node's is run by hand, as in scripts/node22.sh.
e2e/node24/$(PACKAGES): e2e/node24/package.json e2e/node24/package-lock.json
	cd e2e/node24 && $(NPM_CI) && (node_modules/node/bin/node --version || (cd node_modules/node && node installArchSpecificPackage.js)) >/dev/null 2>&1
	@touch $@

# Where npm does not run install scripts, Bun's is run by hand: it puts the binary of its platform, a package, in its place.
e2e/managers/$(PACKAGES): e2e/managers/package.json e2e/managers/package-lock.json
	cd e2e/managers && $(NPM_CI) && (node_modules/.bin/bun --version || node node_modules/bun/install.js) >/dev/null
	@touch $@

.PHONY: vet
vet: ## go vet
	$(SAY) 'go vet'
	@go vet ./...

.PHONY: lint
lint: lint-go lint-ts lint-package lint-openapi ## the linters of Go (with the rules of who may import whom), of TypeScript and .mjs, of the npm package and of openapi.yaml; no dead code; go.mod is tidy

# They collect garbage less often, which saves a fifth of their work.
.PHONY: lint-go
lint-go: export GOGC := 400
lint-go: export GOMEMLIMIT := 4GiB
lint-go:
	$(SAY) 'golangci-lint'
	@lint="$$(scripts/golangci-lint.sh)" && GOFLAGS=-trimpath "$$lint" run ./...
	@scripts/deadcode.sh
	@go mod tidy -diff

BIOME := client/node_modules/.bin/biome

.PHONY: lint-ts
lint-ts: client/$(PACKAGES)
	$(SAY) 'biome, knip, types of .mjs'
	@$(BIOME) check --error-on-warnings
	@cd client && node_modules/.bin/knip
	@client/node_modules/.bin/tsc -p scripts/ts-check

# Of the tarball as npm would publish it: publint its fields and files, attw what TypeScript makes of it under each kind of import.
.PHONY: lint-package
lint-package: client
	$(SAY) 'publint, attw'
	@packed="$$(mktemp -d)"; trap 'rm -r "$$packed"' EXIT; cd client; \
	npm pack --ignore-scripts --silent --pack-destination "$$packed" >/dev/null; \
	node_modules/.bin/publint run --strict "$$packed"/*.tgz; \
	node_modules/.bin/attw --no-color --format ascii "$$packed"/*.tgz >"$$packed/attw" || { cat "$$packed/attw"; exit 1; }

REDOCLY := scripts/redocly

$(REDOCLY)/$(PACKAGES): $(REDOCLY)/package.json $(REDOCLY)/package-lock.json
	cd $(REDOCLY) && $(NPM_CI)
	@touch $@

# It asks for nothing outside: no telemetry, no newer version.
.PHONY: lint-openapi
lint-openapi: $(REDOCLY)/$(PACKAGES)
	$(SAY) 'redocly'
	@out="$$(REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true $(REDOCLY)/node_modules/.bin/redocly lint --config $(REDOCLY)/redocly.yaml httpapi/openapi.yaml 2>&1)" || { printf '%s\n' "$$out"; exit 1; }

# The chart by helm and by Kubernetes' own types, the Compose file by Compose's own parser, the release by goreleaser and
# actionlint. Not part of `make test`: the tools are built from source once, which takes minutes.
.PHONY: lint-deploy
lint-deploy: ## the Helm chart, docker-compose.yml, .goreleaser.yaml, the workflows and the unit of systemd
	$(SAY) 'helm, Compose, systemd'
	@HELM="$$(scripts/deploy-tool.sh helm)" && export HELM && cd deploy/check && go vet ./... && go test -count=1 ./... && go mod tidy -diff
	@if command -v systemd-analyze >/dev/null; then scripts/verify-unit.sh deploy/systemd/world-redis.service; fi
	$(SAY) 'goreleaser, actionlint'
	@"$$(scripts/deploy-tool.sh goreleaser)" check --quiet
	@"$$(scripts/deploy-tool.sh actionlint)"

.PHONY: snapshot
snapshot: ## the archives of a release, in dist/release, from what is committed
	@"$$(scripts/deploy-tool.sh goreleaser)" release --snapshot --clean --skip=docker,publish,announce
	@ls -l dist/release/*.tar.gz dist/release/*.zip dist/release/checksums.txt

.PHONY: proxies
proxies: build client $(E2E_APPS:%=%/$(BUNDLE)) need-redis ## the service and an app behind nginx and Caddy, with the files of deploy/proxies
	$(SAY) 'proxies'
	@scripts/need.sh nginx nginx-light 'to run behind it'
	@scripts/need.sh caddy caddy 'to run behind it'
	@"$$(scripts/node22.sh e2e/apps/v5)" --test --test-reporter=spec --test-timeout=300000 e2e/proxies/proxies.test.mjs

.PHONY: openapi
openapi: ## write httpapi/openapi.json, which the service serves, from openapi.yaml
	@test -e httpapi/openapi.json || echo '{}' >httpapi/openapi.json
	@go test ./httpapi -run TestOpenAPIJSONIsTheYAML -openapi.write >/dev/null

.PHONY: client-file
client-file: client ## write cmd/world-redis/world-redis.cjs, the client as one file, which the service contains
	@cp client/dist/index.js cmd/world-redis/world-redis.cjs

.PHONY: golden
golden: ## write testdata/sent of each package with Lua scripts: what Redis gets of them
	@go test ./storage ./queue ./streaming ./internal/leader -run TestScriptsAreSentAsCommitted -golden.write >/dev/null

.PHONY: fmt
fmt: client/$(PACKAGES) ## format the Go, TypeScript and .mjs files
	@lint="$$(scripts/golangci-lint.sh)" && "$$lint" fmt ./...
	@$(BIOME) check --write --linter-enabled=false

# Tests of thousands of calls, or of many megabytes, by one caller: the race detector finds nothing there, and makes them three times as long.
# A name that is no longer right costs time only. The model test is made with it and without, where it has ten times as many sequences.
ONE_CALLER := TestConformance|TestBR35EventPages|TestBR35EntityPages|TestEventCount|TestSinceCursor|$\
  TestListsOfLargeSteps|TestListsOfLargeHooks|TestAnEntryLargerThanAPage|TestBatchOfLargeSteps|TestLapsesComeInBatches|$\
  TestTheEndOfALargeRunIsShort|TestHooksLeftByTheLastRelease|TestReadsOfALargeRunAreShort|TestBatchesOfTheMostEventsAreShort|TestAStepOfManyEventsIsMended|$\
  TestWhateverACrashLeavesIsMendedAndSaid|TestWithoutACrashNothingIsMended|TestTheWalkFindsWhatAnEarlierBuildWrote
MODEL := TestModel|TestModelLostReplies

# The packages that take longest come first. All of vet's checks are among the linter's. With -trimpath a compiled package
# does not depend on the folder of the clone, so that a fresh one finds what another on the machine has compiled.
.PHONY: test-go
test-go: need-redis need-postgres ## Go tests with the race detector
	$(SAY) 'go test -race'
	@scripts/need.sh gcc 'gcc libc6-dev' 'for the race detector'
	@go test -trimpath -race -vet=off -skip '^($(ONE_CALLER))$$' ./cmd/world-redis ./storage ./...
	@go test -trimpath -vet=off -run '^($(ONE_CALLER)|$(MODEL))$$' ./storage

.PHONY: test-client
test-client: build client need-redis ## tests of the TypeScript client
	$(SAY) 'client tests'
	@cd client && npm run --silent test:built

.PHONY: test-suites
test-suites: build client $(SUITES:%=%/$(PACKAGES)) need-redis ## the SDK's own published tests of a World, v5 and v4
	$(SAY) "the SDK's suites"
	@"$$(scripts/node22.sh e2e/suites/v5)" e2e/suites/run.mjs v5 12
	@"$$(scripts/node22.sh e2e/suites/v4)" e2e/suites/run.mjs v4 5

.PHONY: e2e
e2e: build client $(E2E_APPS:%=%/$(BUNDLE)) need-redis need-postgres ## the SDK's workflows on the real service and a real Redis
	$(SAY) 'end-to-end tests'
	@scripts/need.sh curl curl 'for the example in docs/protocol.md'
	@"$$(scripts/node22.sh e2e/apps/v5)" e2e/run.mjs 4

# Figures and what broke at the end; exit code 1 if anything did. CHAOS_ARGS='--mode cluster --seed 1 --minutes 3 --verbose'.
.PHONY: chaos
chaos: build client e2e/apps/v4/$(BUNDLE) e2e/apps/v5/$(BUNDLE) need-redis ## kill -9 of everything for 12 minutes while runs go on (CHAOS_ARGS='--mode sentinel --seed 1 --minutes 3')
	$(SAY) 'chaos'
	@"$$(scripts/node22.sh e2e/apps/v5)" e2e/chaos/run.mjs $(CHAOS_ARGS)

# One line a row, what broke below it; exit code 1 if anything did. ATTACK_ARGS='--only 4,5,8b --verbose'.
.PHONY: attack
attack: build client e2e/apps/v5/$(PACKAGES) need-redis ## hostile input of every kind, from outside, while others go on (ATTACK_ARGS='--only 4,5')
	$(SAY) 'attack'
	@scripts/need.sh python3 python3 'for the attack'
	@scripts/need.sh chromium chromium 'for a page of another site'
	@scripts/attack.py $(ATTACK_ARGS)

.PHONY: vuln
vuln: ## known vulnerabilities of what this depends on, where the databases can be reached
	$(SAY) 'known vulnerabilities'
	@scripts/vuln.sh

## Measuring

BENCH := "$$(scripts/node22.sh bench/apps/v5)" bench/run.mjs

.PHONY: bench-parts
bench-parts: build client $(BENCH_APPS:%=%/$(BUNDLE)) bench/apps/bullmq/$(PACKAGES) need-redis
	@CGO_ENABLED=0 go build -trimpath -o bin/bench-load ./bench/load

.PHONY: bench
bench: bench-parts ## world-redis beside its peers, one table (BENCH_ARGS='--only queue --rounds 3'; docs/performance.md)
	@$(BENCH) $(BENCH_ARGS)

.PHONY: bench-quick
bench-quick: bench-parts ## the same in a few minutes, with less to rely on
	@$(BENCH) --scale quick --rounds 1 $(BENCH_ARGS)

.PHONY: bench-million
bench-million: bench-parts ## 1,000,000 runs in the store beside 1,000; takes minutes
	@$(BENCH) --only million $(BENCH_ARGS)

.PHONY: bench-go
bench-go: need-redis ## Go benchmarks of storage, queue and streams on a real Redis
	@go test -run '^$$' -bench . -benchmem ./storage/... ./queue/... ./streaming/...

FUZZTIME ?= 60s
MODEL_SEQUENCES ?= 200000

# FUZZWORKERS=1 leaves the other processors to others.
.PHONY: fuzz
fuzz: client need-redis ## a long run of the model test, then each fuzz target for FUZZTIME (60s), the client's too
	$(SAY) 'model test, $(MODEL_SEQUENCES) sequences'
	@go test ./storage -run TestModel -timeout 0 -model.sequences=$(MODEL_SEQUENCES)
	$(SAY) 'fuzz targets, $(FUZZTIME) each'
	@scripts/fuzz.sh $(FUZZTIME) $(FUZZWORKERS)

.PHONY: need-redis
need-redis:
	@scripts/need.sh redis-server redis-server 'for tests on a real Redis'

.PHONY: need-postgres
need-postgres:
	@scripts/need.sh initdb postgresql 'for tests on a real PostgreSQL'

.PHONY: clean
clean: ## remove everything that was built or installed here
	rm -rf bin dist .tools .cache client/dist client/build client/build-test client/node_modules
	rm -rf $(APPS:%=%/node_modules) $(APPS:%=%/.well-known) $(APPS:%=%/.swc) $(E2E_APPS:%=%/workflows) $(BENCH_APPS:%=%/workflows) $(SUITES:%=%/node_modules) e2e/managers/node_modules e2e/node24/node_modules bench/apps/bullmq/node_modules $(REDOCLY)/node_modules bench/out
