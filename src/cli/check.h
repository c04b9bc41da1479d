/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How `check` tells what it found, as lines or as a JSON object on standard output. */
#ifndef FC_CLI_CHECK_H
#define FC_CLI_CHECK_H

#include <jansson.h>

#include "fusecrypt/check.h"

struct fc_check_report {
	bool json;
	const char *container;
	json_t *findings; /* so far */
	bool failed;      /* out of memory */
};

void fc_check_report(struct fc_check_report *report, const struct fc_check_finding *finding);
/* Tells the rest and frees. error: that ended the check, or 0. Returns status,
 * or FC_EXIT_FAILED when it could not be told. */
int fc_check_report_end(struct fc_check_report *report, const struct fc_check_result *result, int error, int status);

#endif
