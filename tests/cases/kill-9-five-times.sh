#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# kill-9-a-hundred-times, but five times.
FC_KILLS=5 exec bash "$SOURCE/tests/cases/kill-9-a-hundred-times.sh"
