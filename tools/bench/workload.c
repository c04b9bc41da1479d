/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "workload.h"

const struct bench_workload *const fc_workloads[] = {
	&fc_workload_extract, &fc_workload_copy,     &fc_workload_xbench,      &fc_workload_asssd,
	&fc_workload_bonnie,  &fc_workload_iometer,  &fc_workload_fio_network, &fc_workload_sqlite,
	&fc_workload_compile, &fc_workload_gnupg,    &fc_workload_xml,         &fc_workload_raytrace,
	&fc_workload_launch,  &fc_workload_metadata, &fc_workload_convert,
};
const unsigned fc_workloads_count = sizeof(fc_workloads) / sizeof(*fc_workloads);
