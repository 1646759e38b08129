/* The page that a node's agent and ranks share. whesl/checkpoints/rank_shared_memory.py has the same layout; a test compares them. */
#ifndef WHESL_CKPT_PAGE_H
#define WHESL_CKPT_PAGE_H

#include <stdint.h>

#define WHESL_CKPT_MAGIC UINT64_C(0x31304b434c534857) /* "WHSLCK01" */
#define WHESL_CKPT_IDLE UINT64_MAX                     /* no step is agreed on */

enum whesl_ckpt_state {
    SLOT_FREE = 0,
    SLOT_RUNNING = 1,
    SLOT_HOLDING = 2,
    SLOT_WRITING = 3,
    SLOT_COMMITTED = 4,
    SLOT_FAILED = 5,
    SLOT_FINISHED = 6,
    SLOT_CLAIMED = 7 /* a rank is taking it */
};

struct page_header { /* 1024 bytes; the agent writes it */
    uint64_t magic;
    uint64_t slots;
    uint64_t heartbeat;  /* CLOCK_MONOTONIC of the agent's last look, in ns */
    uint64_t candidate;  /* the checkpoint that restore is to verify; 0 while it is not known, IDLE for none */
    uint64_t agreed;     /* the checkpoint that all ranks have verified; IDLE for none */
    uint64_t spare[3];
    uint64_t target;     /* the poll at which all stop; IDLE for none */
    uint64_t epoch;      /* of the target */
    uint64_t granted;    /* the checkpoint that this node's ranks may write */
    uint64_t released;   /* the last checkpoint that is over */
    uint64_t more[4];
    char directory[896]; /* where checkpoints are */
};

struct page_slot { /* 256 bytes; its rank writes it */
    uint64_t count;      /* polls so far */
    uint64_t state;
    uint64_t epoch;      /* that the state is about */
    uint64_t target;     /* at which it holds */
    uint64_t rank;
    uint64_t pid;
    uint64_t bytes;      /* of the part */
    uint64_t checksum;   /* CRC-32 of the part, as of zlib */
    uint64_t verified;   /* candidate that was looked at, twice its number, plus 1 if the part is whole */
    uint64_t ranks;      /* of the whole program */
    uint64_t durable;    /* the checkpoint whose part it has made durable, also once it has ended; 0 for none */
    uint64_t syncing;    /* the checkpoint whose part it makes durable just now */
    uint64_t shared;     /* it writes a file of all ranks */
    uint64_t spare[3];
    char text[128];      /* the part's name, or why it failed */
};

#endif
