/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The container, byte by byte. Everything is little-endian and fixed-width.
 * This file fixes where each field lies; the modules named beside each table
 * hold the in-memory structs and the to_disk/from_disk functions.
 *
 * Regions (byte offsets)
 *
 *   0          header, copy A                     FC_HEADER_BYTES
 *   64 KiB     root slot 0, copy A                one block
 *   68 KiB     root slot 1, copy A                one block
 *   128 KiB    header, copy B
 *   192 KiB    root slot 0, copy B
 *   196 KiB    root slot 1, copy B
 *   1 MiB      salt table, copy A                 FC_SALT_BLOCKS blocks
 *   2 MiB      salt table, copy B
 *   4 MiB      log                                a multiple of 64 KiB
 *   data start the rest: blocks, grouped in chunks of FC_CHUNK_BLOCKS. The
 *              data start is the end of the log rounded up to a whole chunk.
 *
 * A block number is a byte offset divided by FC_BLOCK, from the start of the
 * file; a chunk number is a block number divided by FC_CHUNK_BLOCKS.
 *
 * Invariants
 *
 *  F1  A root record lists only blocks that were durable before it was written.
 *  F2  A block that any of the two newest durable roots refers to, directly or
 *      not, or that a log record after the newest root's log head refers to,
 *      is never written.
 *  F3  A root is written to the slot that does not hold the newest durable
 *      root: copy A and copy B of a slot hold the same bytes, and both are
 *      written and synced before the next root's slot is touched.
 *  F4  A salt is durable in copy A before anything is sealed under it.
 *  F5  Log record n+1 of a chain is written only after record n was synced.
 *      So a record that does not open while a later one does is damage.
 *  F6  A pointer holds the nonce and the tag of what it points to.
 *  F7  Root generations only grow, by one a commit (by more when an older
 *      state was accepted).
 *
 * Crash states that must be survived: any subset of the writes since the last
 * sync, each torn at 512 bytes, in any order. By F1-F5 such a state shows the
 * newest root whose two syncs returned, or the one being written, and a prefix
 * of that root's log chain.
 */
#ifndef FUSECRYPT_FORMAT_H
#define FUSECRYPT_FORMAT_H

#include <stdint.h>

#define FC_FORMAT_VERSION 1u
#define FC_BLOCK 4096u
#define FC_BLOCK_SHIFT 12
#define FC_UNIT FC_BLOCK /* sealed unit of file data */
#define FC_NODE_BYTES 16384u
#define FC_NODE_BLOCKS (FC_NODE_BYTES / FC_BLOCK)
#define FC_TAG_BYTES 16u
#define FC_KEY_BYTES 32u
#define FC_SALT_BYTES 32u
#define FC_UUID_BYTES 16u

/* ---- header (store/header.c) ----------------------------------------- */

#define FC_HEADER_A 0u
#define FC_HEADER_B (128u << 10)
#define FC_MAGIC \
	"\x89" \
	"FCRYPT\n"
#define FC_MAGIC_BYTES 8u
#define FC_SLOTS 16u
#define FC_SLOT_BYTES 1024u
#define FC_HEADER_FIXED 4096u
#define FC_HEADER_BYTES (FC_HEADER_FIXED + FC_SLOTS * FC_SLOT_BYTES)

/* fixed part; unnamed bytes are zero */
enum {
	FC_H_MAGIC = 0,         /* 8 bytes */
	FC_H_VERSION = 8,       /* u32 */
	FC_H_BYTES = 12,        /* u32 FC_HEADER_BYTES */
	FC_H_OFFSET = 16,       /* u64 own byte offset: A or B */
	FC_H_SEQUENCE = 24,     /* u64 grows with each header update */
	FC_H_COMPAT = 32,       /* u64 features that may be ignored */
	FC_H_INCOMPAT = 40,     /* u64 unknown bit: refuse */
	FC_H_RO_COMPAT = 48,    /* u64 unknown bit: mount read-only */
	FC_H_UUID = 56,         /* 16 bytes */
	FC_H_CIPHER = 72,       /* u32 FC_CIPHER_* */
	FC_H_UNIT_BYTES = 76,   /* u32 FC_UNIT */
	FC_H_NODE_BYTES = 80,   /* u32 FC_NODE_BYTES */
	FC_H_KEY_EPOCH = 84,    /* u32 epoch of the master key, from 1 */
	FC_H_LOG_OFFSET = 88,   /* u64 bytes */
	FC_H_LOG_BYTES = 96,    /* u64 */
	FC_H_DATA_OFFSET = 104, /* u64 bytes, a multiple of the chunk */
	FC_H_CREATED = 112,     /* u64 seconds since 1970 */
	FC_H_OLD_NONCE = 120,   /* 24 bytes, random; all zero unless a rekey is under way */
	FC_H_OLD_KEY =
		144, /* 48 bytes: the master key before this one, XChaCha20-Poly1305, key "old", aad = UUID, epoch */
	FC_H_MAC = 4032, /* 32 bytes keyed BLAKE2b over all, MAC and sum as zero */
	FC_H_SUM = 4088, /* u64 XXH3-64 over all with this field as zero */
};

#define FC_OLD_NONCE_BYTES 24u
#define FC_OLD_KEY_BYTES (FC_KEY_BYTES + FC_TAG_BYTES)
/* Bits of FC_H_INCOMPAT */
#define FC_INCOMPAT_REKEYED UINT64_C(1) /* another master key came before: FC_H_OLD_*, FC_RP_FIRST and the next three */

/* key slot n at FC_HEADER_FIXED + n * FC_SLOT_BYTES (key/slot.c) */
enum {
	FC_S_STATE = 0,         /* u32 0 free, 1 in use */
	FC_S_KIND = 4,          /* u32 FC_SLOT_KIND_* */
	FC_S_CREATED = 8,       /* u64 seconds since 1970 */
	FC_S_KDF = 16,          /* u32 FC_KDF_* */
	FC_S_OPS = 20,          /* u32 Argon2id passes */
	FC_S_MEM = 24,          /* u64 Argon2id memory, bytes */
	FC_S_SALT = 32,         /* 32 bytes */
	FC_S_NONCE = 64,        /* 24 bytes, XChaCha20-Poly1305 */
	FC_S_WRAPPED = 88,      /* 32 bytes master key sealed, then 16 bytes tag */
	FC_S_COMMITMENT = 136,  /* 32 bytes keyed BLAKE2b of the wrapping key */
	FC_S_EPOCH = 168,       /* u32 epoch of the wrapped master key */
	FC_S_LABEL = 172,       /* 64 bytes, UTF-8, zero-padded */
	FC_S_EXTRA_BYTES = 236, /* u32 bytes used of the next */
	FC_S_EXTRA = 240,       /* kind-specific, up to FC_SLOT_EXTRA_MAX */
};
#define FC_SLOT_EXTRA_MAX (FC_SLOT_BYTES - 240u)
#define FC_LABEL_BYTES 64u

enum { FC_SLOT_KIND_PASSPHRASE = 1, FC_SLOT_KIND_KEY_FILE = 2, FC_SLOT_KIND_RECOVERY = 3, FC_SLOT_KIND_TPM2 = 4 };

/* FC_S_EXTRA of a slot of kind tpm2 (key/tpm2_slot.c); unnamed bytes are zero */
enum {
	FC_T_VERSION = 0,       /* u8 FC_TPM2_VERSION */
	FC_T_FLAGS = 1,         /* u8 FC_TPM2_PIN */
	FC_T_PRIVATE_BYTES = 2, /* u16 */
	FC_T_PUBLIC_BYTES = 4,  /* u16 */
	FC_T_OPS = 8,           /* u32 Argon2id passes for the PIN; 0 without one, like the next two */
	FC_T_MEM = 16,          /* u64 Argon2id memory, bytes */
	FC_T_SALT = 24,         /* 32 bytes */
	FC_T_BLOBS = 56,        /* TPM2B_PRIVATE, then TPM2B_PUBLIC, as a TPM 2.0 marshals them */
};
#define FC_TPM2_VERSION 1u
#define FC_TPM2_PIN 1u

enum { FC_KDF_NONE = 0, FC_KDF_ARGON2ID13 = 1 };
enum { FC_CIPHER_XCHACHA20POLY1305 = 1, FC_CIPHER_AES256GCM = 2, FC_CIPHER_AEGIS128L = 3, FC_CIPHER_AEGIS256 = 4 };

/* ---- pointer to a sealed tree node (FC_PTR_BYTES) --------------------- */
enum {
	FC_P_BLOCK = 0,       /* u64 first block */
	FC_P_SESSION = 8,     /* u32 session whose node key sealed it */
	FC_P_LEVEL = 12,      /* u8 0 leaf */
	FC_P_NONCE = 16,      /* u64 counter */
	FC_P_TAG = 24,        /* 16 bytes */
	FC_P_GENERATION = 40, /* u64 generation that wrote it */
};
#define FC_PTR_BYTES 48u

/* ---- root record: one block (cipher/root.c) --------------------------- */
#define FC_ROOT_A (64u << 10)
#define FC_ROOT_B (192u << 10)
#define FC_ROOT_SLOTS 2u
#define FC_ROOT_MAGIC "FCROOT1\n"
enum {
	FC_R_MAGIC = 0,   /* 8 bytes */
	FC_R_NONCE = 8,   /* 24 bytes, random */
	FC_R_SEALED = 32, /* XChaCha20-Poly1305, key "root", aad = magic, UUID */
};
/* What is sealed ends with the block's first 512 bytes, so that a torn write
 * leaves a copy old or new: one that does not open is damaged, never torn. */
#define FC_ROOT_SECTOR 512u
#define FC_ROOT_PLAIN (FC_ROOT_SECTOR - FC_R_SEALED - FC_TAG_BYTES)
/* the sealed bytes; unnamed bytes are zero */
enum {
	FC_RP_GENERATION = 0,    /* u64 */
	FC_RP_FLAGS = 8,         /* u32 FC_ROOT_CLEAN */
	FC_RP_SESSIONS = 12,     /* u32 highest session number in use */
	FC_RP_HEADER_SEQ = 16,   /* u64 lowest header sequence accepted */
	FC_RP_TIME = 24,         /* u64 seconds since 1970 */
	FC_RP_FILE_TREE = 32,    /* FC_PTR_BYTES */
	FC_RP_SPACE_TREE = 80,   /* FC_PTR_BYTES */
	FC_RP_NEXT_INO = 128,    /* u64 */
	FC_RP_LOG_SESSION = 136, /* u32 */
	FC_RP_LOG_SEQ = 144,     /* u64 sequence of the next record */
	FC_RP_LOG_POS = 152,     /* u64 its byte position in the log */
	FC_RP_LOG_TAG = 160,     /* 16 bytes: tag of the record before it */
	FC_RP_INODES = 176,      /* u64 inodes in use */
	FC_RP_DATA_BLOCKS = 184, /* u64 blocks of file data in use */
	FC_RP_NODE_BLOCKS = 192, /* u64 blocks of tree nodes in use */
	FC_RP_CAP = 200,         /* u64 size limit in bytes, 0 none */
	FC_RP_CHUNKS = 208,      /* u64 end of the chunks ever used, a chunk number */
	FC_RP_SHARED = 216,      /* u64 reference items in the space tree */
	FC_RP_FIRST = 232,       /* u32 first session that is in use; 0: 1 */
	FC_RP_OLD_LAST = 236,    /* u32 last session of the master key before this one; 0: none is in use */
	FC_RP_OWN = 240,         /* u32 first session of this master key; 0: 1 */
	FC_RP_NAMES = 248,       /* 16 bytes: the key of names; zeros: that of this master key */
};
#define FC_ROOT_CLEAN 1u /* closed in order: nothing in the log */

/* ---- salt table: two copies (cipher/salts.c) -------------------------- */
#define FC_SALTS_A (1u << 20)
#define FC_SALTS_B (2u << 20)
#define FC_SALT_BLOCKS 256u
#define FC_SALTS_PER_BLOCK 126u
#define FC_NAMES_BYTES 16u
/* With one master key: the last block is left for the sessions that a rekey takes. */
#define FC_SESSIONS_MAX ((FC_SALT_BLOCKS - 1) * FC_SALTS_PER_BLOCK)
enum {
	FC_SB_NONCE = 0,   /* 24 bytes, random */
	FC_SB_SEALED = 24, /* XChaCha20-Poly1305, key "salts", aad = UUID, u32 block index */
};
/* sealed: u32 block index, u32 salts in use, then FC_SALTS_PER_BLOCK salts; session n (from 1) is salt n-1. Block
 * index i lies at i modulo FC_SALT_BLOCKS; each belongs to one master key. */
#define FC_SALT_PLAIN (FC_BLOCK - FC_SB_SEALED - FC_TAG_BYTES)

/* ---- log record, on 4 KiB boundaries (cipher/log.c) ------------------- */
#define FC_LOG_OFFSET (4u << 20)
#define FC_LOG_MIN (256u << 10)
#define FC_LOG_MAX (1u << 30)
#define FC_LOG_DEFAULT (16u << 20)
#define FC_LOG_ALIGN (64u << 10)
#define FC_LOG_MAGIC 0x474f4c46u /* "FLOG" */
enum {
	FC_L_MAGIC = 0,    /* u32 */
	FC_L_BLOCKS = 4,   /* u32 blocks of this record */
	FC_L_SESSION = 8,  /* u32 session whose log key sealed it */
	FC_L_BYTES = 12,   /* u32 bytes of payload */
	FC_L_SEQ = 16,     /* u64 sequence, also the nonce */
	FC_L_PREV = 24,    /* 16 bytes: tag of the record before it */
	FC_L_ACKED = 40,   /* u64 highest sequence acknowledged by then */
	FC_L_TAG = 48,     /* 16 bytes; bytes 0-47 are the aad */
	FC_L_PAYLOAD = 64, /* sealed with the container's cipher: whole operations (fs/op.c) */
};
/* A record that reaches the log's end goes on at its start. */

/* ---- tree node: FC_NODE_BYTES, sealed whole (tree/node.c) ------------- */
#define FC_NODE_MAGIC 0x444f4e46u /* "FNOD" */
enum {
	FC_N_MAGIC = 0,  /* u32 */
	FC_N_LEVEL = 4,  /* u8 */
	FC_N_TREE = 5,   /* u8 FC_TREE_* */
	FC_N_COUNT = 6,  /* u16 items */
	FC_N_HEAP = 8,   /* u16 lowest byte used by values */
	FC_N_DEAD = 10,  /* u16 value bytes that no slot uses */
	FC_N_SLOTS = 32, /* slots, ascending by key */
};
/* slot */
enum {
	FC_NS_INO = 0,    /* u64 */
	FC_NS_OFF = 8,    /* u64 */
	FC_NS_TYPE = 16,  /* u8 */
	FC_NS_AT = 18,    /* u16 byte offset of the value in the node */
	FC_NS_BYTES = 20, /* u16 bytes of the value */
};
#define FC_SLOT_ITEM_BYTES 24u
#define FC_ITEM_MAX 4608u
#define FC_TREE_DEPTH_MAX 12u
enum { FC_TREE_FILE = 1, FC_TREE_SPACE = 2 };
/* Keys order by (ino, type, off). An inner node's value is a pointer; its child has no keys below its key (the first
 * child may have), and none from the next one's key on. */

/* ---- items of the file tree (tree/item.h, fs) ------------------------- */
enum {
	FC_KEY_INODE = 1,  /* (ino, 0) */
	FC_KEY_INLINE = 2, /* (ino, 0): content of a small file, or target of a symbolic link */
	FC_KEY_XATTR = 3,  /* (ino, name hash): attributes of that hash */
	FC_KEY_ENTRY = 4,  /* (directory, sequence): u64 ino, u8 type, name */
	FC_KEY_NAME = 5,   /* (directory, name hash): u64 sequences of that hash */
	FC_KEY_EXTENT = 6, /* (ino, file block) */
	FC_KEY_ORPHAN = 7, /* (0, ino): an inode without links, to be removed; value u64 FC_ORPHAN_REMOVE */
	FC_KEY_BLOB = 8,   /* (0, blob << FC_BLOB_PART_BITS | part): bytes of a large attribute value */
};
#define FC_ORPHAN_REMOVE UINT64_MAX
#define FC_INO_ROOT 1u
#define FC_INO_FIRST 16u
#define FC_INO_MAX ((uint64_t)INT64_MAX) /* numbers count up: nobody gets there */
#define FC_NAME_MAX 255u
#define FC_INLINE_MAX 2048u
#define FC_SYMLINK_MAX 4095u
#define FC_FILE_MAX INT64_MAX

enum {
	FC_I_MODE = 0,    /* u32 */
	FC_I_NLINK = 4,   /* u32 */
	FC_I_UID = 8,     /* u32 */
	FC_I_GID = 12,    /* u32 */
	FC_I_RDEV = 16,   /* u64 major << 32 | minor */
	FC_I_SIZE = 24,   /* u64 */
	FC_I_BLOCKS = 32, /* u64 data blocks mapped */
	FC_I_FLAGS = 40,  /* u64 FC_INODE_* */
	FC_I_ATIME = 48,  /* i64 seconds */
	FC_I_MTIME = 56,
	FC_I_CTIME = 64,
	FC_I_BTIME = 72,
	FC_I_ATIME_NS = 80, /* u32 */
	FC_I_MTIME_NS = 84,
	FC_I_CTIME_NS = 88,
	FC_I_BTIME_NS = 92,
	FC_I_NEXT_SEQ = 96, /* u64 directories: sequence of the next entry */
	FC_I_PARENT = 104,  /* u64 directories */
	FC_I_ENTRIES = 112, /* u64 directories: entries */
	FC_I_XATTRS = 120,  /* u32 extended attributes */
};
#define FC_INODE_BYTES 128u
#define FC_INODE_INLINE 1u /* content is in the INLINE item */

/* extent: header, then one tag a unit */
enum {
	FC_E_BLOCK = 0,    /* u64 first block; 0: lost, reads fail (`check --repair` found nothing there) */
	FC_E_UNITS = 8,    /* u32 1..FC_EXTENT_UNITS; unwritten: up to its chunk's end; lost: any */
	FC_E_SESSION = 12, /* u32; 0: unwritten (fallocate), reads as zeros, or lost: no tags follow */
	FC_E_NONCE = 16,   /* u64 nonce of the first unit, the others count up; 0 without session */
	FC_E_TAGS = 24,
};
#define FC_EXTENT_UNITS 64u

/* attribute in an XATTR item, one after the other: u8 name bytes, u8 kind, u16 zero, u32 value bytes, name, value */
enum { FC_XATTR_INLINE = 0, FC_XATTR_BLOB = 1 /* value: u64 blob number */ };
#define FC_BLOB_PART_BITS 5u
#define FC_BLOB_PART 4096u
#define FC_XATTR_INLINE_MAX 2048u
#define FC_XATTR_VALUE_MAX 65536u

/* ---- items of the space tree (tree/space.c) --------------------------- */
#define FC_CHUNK_BLOCKS 1024u
#define FC_CHUNK_BYTES ((uint64_t)FC_CHUNK_BLOCKS * FC_BLOCK)
enum {
	FC_KEY_CHUNK = 1,   /* (0, chunk): u8 kind, u8 form, u16 blocks in use, [128 bytes bitmap, set = in use] */
	FC_KEY_PENDING = 2, /* (generation, n): up to FC_PENDING_MAX of u64 first block, u32 blocks */
	FC_KEY_REF = 3,     /* (0, first block): u32 blocks, u32 owners >= 2 */
};
enum { FC_CHUNK_DATA = 0, FC_CHUNK_NODES = 1 };
enum { FC_CHUNK_BITMAP = 0, FC_CHUNK_EMPTY = 1, FC_CHUNK_FULL = 2 };
#define FC_PENDING_MAX 256u

#endif
