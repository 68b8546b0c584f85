# SPDX-License-Identifier: GPL-2.0-only
#
# What is built for user space, with checks: included by the makefiles of libte,
# tools and selftests after CFLAGS is set.
#
#   SANITIZE=undefined            on make's command line: UBSan
#   SANITIZE=address,undefined    AddressSanitizer too
#
# Such programs end at their first fault. They are kept apart, in $(CHECKED) under
# build/, and not for installing.

CHECKED :=
ifneq ($(SANITIZE),)
comma := ,
CHECKED := /$(subst $(comma),-,$(SANITIZE))
override CFLAGS += -fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
		   -fno-omit-frame-pointer
endif
