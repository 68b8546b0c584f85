# SPDX-License-Identifier: GPL-2.0-only
#
# te: builds and entry points. The work is done elsewhere: Kbuild for the module,
# libte/Makefile, tools/Makefile, and the scripts in selftests/. Everything that
# is built or unpacked goes under build/.

VM	:= selftests/vm
BUILD	:= $(CURDIR)/build
GUEST_KERNELS	:= um 6.12 6.1 um-kasan kasan kcsan

# `make all` and `make install` build for KDIR: the running kernel if its headers
# are here, else Debian's 6.12. Each kernel has its own folder under build/.
RUNNING	:= /lib/modules/$(shell uname -r)/build
ifneq ($(KDIR),)
NAME	:= host
else ifneq ($(wildcard $(RUNNING)/Makefile),)
NAME	:= host
KDIR	:= $(RUNNING)
else
NAME	:= 6.12
endif

prefix	?= /usr
udevdir	?= $(prefix)/lib/udev
moddir	?= /lib/modules

.PHONY: help all module libte tools te-demo demo check check-quick check-debug \
	check-mutants bench vm lint install clean build-packages \
	$(GUEST_KERNELS:%=modules-%) modules-um-test \
	$(GUEST_KERNELS:%=floor-%)

help:
	@echo 'make all          te.ko for KDIR ($(or $(KDIR),Debian 6.12)), libte, tools'
	@echo 'make demo         two guests: a file crosses the wire both ways, checksums compared'
	@echo 'make check        every test, on three kernels'
	@echo 'make check-quick  the tests on User Mode Linux only'
	@echo 'make check-debug  the tests on kernels that watch: KASAN, lockdep, KCSAN ...'
	@echo 'make check-mutants  te broken on purpose, a dozen ways: each must be caught'
	@echo 'make bench        te against perftest, and a bare loop'
	@echo 'make vm           a shell in a guest with te loaded and the network up'
	@echo 'make lint         style, headers, who includes whom, scripts'
	@echo 'make install      module, udev rule, headers, library, tools; DESTDIR= prefix= KDIR='
	@echo 'make clean        remove build/'

all: module libte tools

build-packages:
	@$(VM)/packages.sh build-essential kmod

libte: build-packages
	@$(MAKE) --no-print-directory -C libte

tools: libte
	@$(VM)/packages.sh libjansson-dev
	@$(MAKE) --no-print-directory -C tools

te-demo: tools
	@$(MAKE) --no-print-directory -C tools demo

# Kbuild writes beside the sources, so each kernel gets a farm of links to them;
# links whose source is gone go first.
# $(1): name under build/, $(2): shell words that set $kdir and $arch; $(3): more
# for make; $(4): sources. Warnings are errors only with the kernels we know.
define build_module
	@mkdir -p $(BUILD)/$(1)
	@find $(BUILD)/$(1) -xtype l -delete
	@cp -rsf $(4:%=$(CURDIR)/%) $(BUILD)/$(1)/
	@$(2) && $(MAKE) --no-print-directory -C "$$kdir" M=$(BUILD)/$(1) \
		$${arch:+ARCH=$$arch} $(3) W=1 modules
endef

TE_SOURCES := Kbuild kmod uapi

$(GUEST_KERNELS:%=modules-%): modules-%: build-packages
	$(call build_module,$*,kdir=`$(VM)/kernel.sh kdir $*` && arch=`$(VM)/kernel.sh arch $*`,KCFLAGS=-Werror `$(VM)/kernel.sh flags $*`,$(TE_SOURCES))

# What make bench compares te with: te_floor.ko, for the same kernels
$(GUEST_KERNELS:%=floor-%): floor-%: build-packages
	$(call build_module,floor/$*,kdir=`$(VM)/kernel.sh kdir $*` && arch=`$(VM)/kernel.sh arch $*`,KCFLAGS=-Werror,$(wildcard selftests/perf/floor/*))

# For the plain kernel, with what the debug kernels' builds have: KUnit, faults
modules-um-test: build-packages
	$(call build_module,um-test,kdir=`$(VM)/kernel.sh kdir um` && arch=um,KCFLAGS=-Werror CONFIG_TE_TEST=y,$(TE_SOURCES))

ifeq ($(NAME),host)
module: build-packages
	$(call build_module,host,kdir=$(KDIR) && arch=$(ARCH),,$(TE_SOURCES))
else
module: modules-$(NAME)
endif

demo:
	@tools/te-demo/demo.sh

check:
	@selftests/run.sh full

check-quick:
	@selftests/run.sh quick

check-debug:
	@selftests/run.sh debug

check-mutants: modules-um modules-um-kasan modules-kcsan
	@$(MAKE) -s --no-print-directory -C selftests
	@selftests/mutants.sh

bench:
	@selftests/perf/bench.sh

vm: modules-6.12 tools
	@$(VM)/run.sh --kernel 6.12 --net wire --time 86400 --shell

lint:
	@selftests/lint.sh

# the release is the one that the module was built for
install: all
	release=`PATH=$$PATH:/sbin modinfo -F vermagic $(BUILD)/$(NAME)/te.ko | cut -d' ' -f1` && \
	install -D -m 644 $(BUILD)/$(NAME)/te.ko \
		$(DESTDIR)$(moddir)/$$release/updates/te.ko && \
	{ [ -n "$(DESTDIR)" ] || depmod $$release; }
	install -D -m 644 tools/udev/60-te.rules \
		$(DESTDIR)$(udevdir)/rules.d/60-te.rules
	$(MAKE) -C libte prefix=$(prefix) install
	$(MAKE) -C tools prefix=$(prefix) install
	[ -n "$(DESTDIR)" ] || { groupadd -f -r te && ldconfig; }

clean:
	rm -rf $(BUILD)
