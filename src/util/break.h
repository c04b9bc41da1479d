/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules that a test of the crash test breaks on purpose (tests/model/breaks.c).
 * Only a library that is built with FC_BREAK for that test can break any: in
 * every other build FC_BROKEN is the constant false.
 */
#ifndef FC_UTIL_BREAK_H
#define FC_UTIL_BREAK_H

#ifdef FC_BREAK

enum fc_break {
	FC_BREAK_NONE,
	FC_BREAK_REUSE, /* freed blocks are free at once */
	FC_BREAK_CHAIN, /* log records do not say which one they follow */
};

/* The test's own: it defines it and sets it before it opens anything. */
extern enum fc_break fc_break_rule;

#define FC_BROKEN(rule) (fc_break_rule == FC_BREAK_##rule)

#else
#define FC_BROKEN(rule) 0
#endif

#endif
