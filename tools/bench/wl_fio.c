/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What fio does: the file-server access pattern of IOMeter, and the network job. */
#include <jansson.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "external.h"
#include "files.h"
#include "workload.h"

#define SEED 80
#define NETWORK_TRIES 3

static const uint64_t server_bytes[] = { 32u << 20, 256u << 20, UINT64_C(4) << 30 };
static const uint64_t network_bytes[] = { 128u << 20, UINT64_C(1) << 30, UINT64_C(10) << 30 };

static int available(const struct bench *bench, char **reason, char **install)
{
	(void)bench;
	return fc_external_need("fio", "fio", reason, install);
}

/* The root of fio's report, which begins after messages; NULL with an error. */
static json_t *run_fio(struct bench_step *step, const char *const argv[])
{
	char *output = NULL;
	json_error_t error;
	if (fc_external_run(step, argv, &output))
		return NULL;
	const char *begin = strchr(output, '{');
	json_t *root = begin ? json_loads(begin, JSON_DISABLE_EOF_CHECK, &error) : NULL;
	free(output);
	if (!root)
		fc_step_fail(step, "fio's report cannot be read");
	return root;
}

static double number_at(const json_t *job, const char *part, const char *key)
{
	const json_t *at = part ? json_object_get(job, part) : job;
	return json_number_value(json_object_get(at, key));
}

/* The job's own time: without fio's start. Fails if it moved less than it should. */
static int take_job(struct bench_step *step, const json_t *root, const char *name, uint64_t bytes)
{
	size_t i;
	const json_t *job;
	json_array_foreach(json_object_get(root, "jobs"), i, job)
	{
		const char *is = json_string_value(json_object_get(job, "jobname"));
		if (!is || strcmp(is, name))
			continue;
		double moved = number_at(job, "read", "io_bytes") + number_at(job, "write", "io_bytes");
		double ms = number_at(job, NULL, "job_runtime");
		if (number_at(job, NULL, "error") != 0 || moved < (double)bytes || ms <= 0)
			return fc_step_fail(step, "fio's job moved %.0f bytes, not %llu", moved,
					    (unsigned long long)bytes);
		step->shared->sample.bytes = (uint64_t)moved;
		step->shared->sample.value[0] = ms / 1000;
		return 0;
	}
	return fc_step_fail(step, "fio reported no job %s", name);
}

/* ---- IOMeter, file server ----------------------------------------------------- */

static void server_needs(const struct bench *bench, struct bench_needs *needs)
{
	needs->each = server_bytes[bench->options->size];
}

static int server_setup(struct bench_step *step)
{
	return fc_pattern_write_file(step, "file", server_bytes[step->bench->options->size], SEED);
}

static int server_run(struct bench_step *step)
{
	uint64_t bytes = server_bytes[step->bench->options->size];
	char *size = fc_bench_format("--size=%llu", (unsigned long long)bytes);
	const char *argv[] = { "fio",
			       "--name=iometer",
			       "--filename=file",
			       size,
			       "--rw=randrw",
			       "--rwmixread=80",
			       "--bssplit=512/10:1k/5:2k/5:4k/60:8k/2:16k/4:32k/4:64k/10",
			       "--ioengine=libaio",
			       "--iodepth=64",
			       step->bench->direct ? "--direct=1" : "--direct=0",
			       "--end_fsync=1",
			       "--randseed=80",
			       "--thread",
			       "--output-format=json",
			       NULL };
	json_t *root = run_fio(step, argv);
	free(size);
	if (!root)
		return -1;
	/* The last, uneven blocks may not fit any more. */
	int result = take_job(step, root, "iometer", bytes - bytes / 10);
	json_decref(root);
	return result;
}

static const struct bench_row server_rows[] = {
	{ .name = "file-server",
	  .title = "file server",
	  .kind = ROW_REPORTED,
	  .unit = "s",
	  .published = { 1.42, 0, "dm-crypt" } },
};

static const struct bench_part server_parts[] = {
	{ .flags = PART_COLD | PART_WRITES, .run = server_run, .row = server_rows, .rows = 1 },
};

const struct bench_workload fc_workload_iometer = {
	.name = "iometer",
	.title = "IOMeter's file server",
	.does = "fio with IOMeter's file-server pattern: random, 80 % reading, 512 bytes to 64 KiB, 64 requests under "
		"way, "
		"uncached",
	.from = "the dm-crypt test on an Eee PC: 12 minutes became 17",
	.available = available,
	.programs = "fio",
	.needs = server_needs,
	.setup = server_setup,
	.part = server_parts,
	.parts = 1,
};

/* ---- the network job ----------------------------------------------------------- */

static void network_needs(const struct bench *bench, struct bench_needs *needs)
{
	(void)bench;
	(void)needs;
}

/* A port of the loopback device that nobody uses right now; 0 if there is none. */
static unsigned free_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool found = s >= 0 && !bind(s, (struct sockaddr *)&a, n) && !getsockname(s, (struct sockaddr *)&a, &n);
	if (s >= 0)
		close(s);
	return found ? ntohs(a.sin_port) : 0;
}

static int network_once(struct bench_step *step)
{
	uint64_t bytes = network_bytes[step->bench->options->size];
	char *size = fc_bench_format("--size=%llu", (unsigned long long)bytes);
	char *port = fc_bench_format("--port=%u", free_port());
	const char *argv[] = { "fio",
			       "--output-format=json",
			       "--ioengine=net",
			       "--protocol=tcp",
			       "--bs=4k",
			       "--thread",
			       size,
			       port,
			       "--name=receiver",
			       "--ioengine=net",
			       "--protocol=tcp",
			       "--bs=4k",
			       "--thread",
			       size,
			       port,
			       "--listen",
			       "--rw=read",
			       "--name=sender",
			       "--ioengine=net",
			       "--protocol=tcp",
			       "--bs=4k",
			       "--thread",
			       size,
			       port,
			       "--hostname=localhost",
			       "--startdelay=1",
			       "--rw=write",
			       NULL };
	json_t *root = run_fio(step, argv);
	free(size);
	free(port);
	if (!root)
		return -1;
	int result = take_job(step, root, "sender", bytes);
	json_decref(root);
	return result;
}

/* Sender and receiver find each other by a delay of a second, which is too short
 * on a machine with much to do, and the port may be taken meanwhile: once more
 * then. The time is fio's own, of the try that succeeded. */
static int network_run(struct bench_step *step)
{
	int result = -1;
	for (int i = 0; result && i < NETWORK_TRIES; i++)
		result = network_once(step);
	return result;
}

static const struct bench_row network_rows[] = {
	{ .name = "network",
	  .title = "network job",
	  .kind = ROW_REPORTED,
	  .unit = "s",
	  .published = { 1.0, 0, "dm-crypt" } },
};

static const struct bench_part network_parts[] = {
	{ .run = network_run, .row = network_rows, .rows = 1 },
};

const struct bench_workload fc_workload_fio_network = {
	.name = "fio-network",
	.title = "fio's network job",
	.does = "fio sends data to itself over TCP while its current directory is the one measured",
	.from = "the dm-crypt test on an Eee PC: no difference, and none is expected: a control",
	.control = true,
	.available = available,
	.programs = "fio",
	.needs = network_needs,
	.part = network_parts,
	.parts = 1,
};
