/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What to say when an assertion ends the program: how to repeat it. */
#ifndef FC_TESTS_BLAME_H
#define FC_TESTS_BLAME_H

/* The command that repeats what begins now; one thread sets it. */
void fc_blame(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same text, for messages. */
const char *fc_blame_text(void);

#endif
