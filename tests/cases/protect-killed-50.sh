#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# by hand
# timeout: 3600
# protect-killed with 50 moments of each direction.
export FC_PROTECT_MOMENTS=50
# shellcheck source=tests/cases/protect-killed.sh
. "$SOURCE/tests/cases/protect-killed.sh"
