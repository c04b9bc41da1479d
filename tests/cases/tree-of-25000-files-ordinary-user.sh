#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 900
# long
# As ordinary-user, with 25,000 files.
# shellcheck disable=SC2034 # read there
FILES=25000
# shellcheck source=tests/cases/ordinary-user.sh
. "$SOURCE/tests/cases/ordinary-user.sh"
