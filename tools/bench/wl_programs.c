/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Everyday programs: GnuPG, and POV-Ray as the control. */
#include <errno.h>
#include <string.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "external.h"
#include "files.h"
#include "workload.h"

/* ---- gnupg --------------------------------------------------------------------- */

#define GPG_SEED 90

static const uint64_t plain_bytes[] = { 24u << 20, 256u << 20, UINT64_C(1000000000) / PATTERN_UNIT *PATTERN_UNIT };

static int gpg_available(const struct bench *bench, char **reason, char **install)
{
	(void)bench;
	return fc_external_need("gpg", "gnupg", reason, install);
}

static void gpg_needs(const struct bench *bench, struct bench_needs *needs)
{
	/* The file, what it is encrypted to, and for the check what that is decrypted to. */
	needs->each = 3 * plain_bytes[bench->options->size];
}

/* gpg wants an agent, whose sockets must have short names: so its home is not in
 * the place. It holds keys, of which there are none. */
static char *gpg_home(const struct bench_step *step)
{
	return fc_bench_format("%s/gnupg", step->bench->scratch);
}

static int gpg(struct bench_step *step, const char *what, const char *from, const char *to)
{
	char *home = gpg_home(step);
	const char *argv[] = { "gpg",
			       "--homedir",
			       home,
			       "--batch",
			       "--quiet",
			       "--yes",
			       "--pinentry-mode",
			       "loopback",
			       "--passphrase-file",
			       "passphrase",
			       "--cipher-algo",
			       "AES256",
			       "--output",
			       to,
			       what,
			       from,
			       NULL };
	int result = fc_external_run(step, argv, NULL);
	free(home);
	return result;
}

/* The first, small file starts the agent: not to be timed. */
static int gpg_setup(struct bench_step *step)
{
	char *home = gpg_home(step);
	int made = mkdir(home, 0700);
	free(home);
	if (made && errno != EEXIST)
		return fc_step_fail_errno(step, "a home for gpg");
	if (fc_file_save(step, "passphrase", "a passphrase for nothing\n", 25) ||
	    gpg(step, "--symmetric", "passphrase", "encrypted"))
		return -1;
	return fc_pattern_write_file(step, "plain", plain_bytes[step->bench->options->size], GPG_SEED);
}

static int gpg_cleanup(struct bench_step *step)
{
	char *home = gpg_home(step);
	const char *end[] = { "gpgconf", "--homedir", home, "--kill", "all", NULL };
	const char *sockets[] = { "gpgconf", "--homedir", home, "--remove-socketdir", NULL };
	int result = 0;
	if (!access(home, F_OK)) {
		result = fc_external_run(step, end, NULL);
		fc_external_run(step, sockets, NULL);
		fc_files_remove(home);
	}
	free(home);
	return result;
}

static int gpg_prepare(struct bench_step *step)
{
	if ((unlink("encrypted") && errno != ENOENT) || (unlink("decrypted") && errno != ENOENT))
		return fc_step_fail_errno(step, "encrypted");
	return 0;
}

static int gpg_run(struct bench_step *step)
{
	step->shared->sample.bytes = plain_bytes[step->bench->options->size];
	return gpg(step, "--symmetric", "plain", "encrypted");
}

static int gpg_verify(struct bench_step *step)
{
	if (gpg(step, "--decrypt", "encrypted", "decrypted") ||
	    fc_pattern_check_file(step, "decrypted", plain_bytes[step->bench->options->size], GPG_SEED))
		return -1;
	return gpg_prepare(step);
}

static const struct bench_row gpg_rows[] = {
	{ .name = "encrypt", .title = "encrypt a file", .kind = ROW_TIME, .published = { 1.23, 0, "dm-crypt" } },
};

static const struct bench_part gpg_parts[] = {
	{ .flags = PART_COLD | PART_WRITES,
	  .prepare = gpg_prepare,
	  .run = gpg_run,
	  .verify = gpg_verify,
	  .row = gpg_rows,
	  .rows = 1 },
};

const struct bench_workload fc_workload_gnupg = {
	.name = "gnupg",
	.title = "GnuPG",
	.does = "gpg encrypts a large file with a passphrase (AES-256)",
	.from = "the dm-crypt test on an Eee PC, with a file of 1 GB",
	.available = gpg_available,
	.programs = "gpg",
	.needs = gpg_needs,
	.setup = gpg_setup,
	.cleanup = gpg_cleanup,
	.part = gpg_parts,
	.parts = 1,
};

/* ---- raytrace ------------------------------------------------------------------- */

static const unsigned widths[] = { 320, 960, 1920 };

/* Mirrors, shadows and a pattern, with nothing included: all of it is arithmetic. */
static const char scene[] = "#version 3.7;\n"
			    "global_settings { assumed_gamma 1.0 max_trace_level 8 }\n"
			    "camera { location <0, 4, -9> look_at <0, 1, 0> }\n"
			    "light_source { <8, 12, -8> rgb 1 area_light <2, 0, 0>, <0, 0, 2>, 3, 3 }\n"
			    "light_source { <-9, 6, -4> rgb 0.4 }\n"
			    "background { rgb <0.4, 0.6, 0.9> }\n"
			    "plane { y, 0 pigment { checker rgb 0.9, rgb 0.2 } finish { reflection 0.2 } }\n"
			    "#declare I = 0;\n"
			    "#while (I < 60)\n"
			    "  sphere { <3.5 * sin(I), 0.5 + I / 25, 3.5 * cos(I)>, 0.45\n"
			    "    pigment { rgb <0.5 + 0.4 * sin(I), 0.5 + 0.4 * cos(I * 2), 0.5> }\n"
			    "    finish { reflection 0.35 specular 0.6 } }\n"
			    "  #declare I = I + 1;\n"
			    "#end\n";

static int povray_available(const struct bench *bench, char **reason, char **install)
{
	(void)bench;
	return fc_external_need("povray", "povray", reason, install);
}

static void povray_needs(const struct bench *bench, struct bench_needs *needs)
{
	needs->each = (uint64_t)widths[bench->options->size] * widths[bench->options->size] * 3;
}

static int povray_setup(struct bench_step *step)
{
	return fc_file_save(step, "scene.pov", scene, sizeof(scene) - 1);
}

static int povray_prepare(struct bench_step *step)
{
	return unlink("picture.png") && errno != ENOENT ? fc_step_fail_errno(step, "picture.png") : 0;
}

static int povray_run(struct bench_step *step)
{
	unsigned width = widths[step->bench->options->size];
	char *w = fc_bench_format("+W%u", width), *h = fc_bench_format("+H%u", width * 3 / 4);
	/* Debian's povray may read and write in its current directory and in /tmp only. */
	const char *argv[] = { "povray", "+Iscene.pov", "+Opicture.png", "+FN", w, h, "-D", "+A0.1", "-GA", NULL };
	int result = fc_external_run(step, argv, NULL);
	free(w);
	free(h);
	return result;
}

static int povray_verify(struct bench_step *step)
{
	static const unsigned char signature[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
	unsigned char head[24] = { 0 };
	FILE *f = fopen("picture.png", "re");
	size_t n = f ? fread(head, 1, sizeof(head), f) : 0;
	if (f)
		fclose(f);
	unsigned width = (unsigned)head[18] << 8 | head[19];
	if (n != sizeof(head) || memcmp(head, signature, 8) || width != widths[step->bench->options->size])
		return fc_step_fail(step, "picture.png: wrong data: not the picture that was drawn");
	return 0;
}

static const struct bench_row povray_rows[] = {
	{ .name = "raytrace", .title = "draw a picture", .kind = ROW_TIME, .published = { 1.0, 0, "dm-crypt" } },
};

static const struct bench_part povray_parts[] = {
	{ .prepare = povray_prepare, .run = povray_run, .verify = povray_verify, .row = povray_rows, .rows = 1 },
};

const struct bench_workload fc_workload_raytrace = {
	.name = "raytrace",
	.title = "Ray tracing",
	.does = "povray draws a picture: nearly all of it is arithmetic",
	.from = "Sunflow in the dm-crypt test on an Eee PC: a control, which should show no difference",
	.control = true,
	.available = povray_available,
	.programs = "povray",
	.needs = povray_needs,
	.setup = povray_setup,
	.part = povray_parts,
	.parts = 1,
};
