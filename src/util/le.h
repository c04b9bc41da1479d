/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Little-endian fields at any alignment. */
#ifndef FC_UTIL_LE_H
#define FC_UTIL_LE_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t fc_get_u16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static inline uint32_t fc_get_u32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t fc_get_u64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static inline void fc_put_u16(void *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void fc_put_u32(void *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void fc_put_u64(void *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

#endif
