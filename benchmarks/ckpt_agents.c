/* Stand-ins for the agents of many nodes: each has a connection of its own to the coordinator, speaks ZMTP 3.0 with
 * CURVE over it (https://rfc.zeromq.org/spec/23/, /25/, /26/), decrypts what it is sent and answers as an agent does.
 * They are written for one purpose, to cost the machine less than the coordinator that is measured on it.
 *
 *     ckpt_agents PORT SERVER PUBLIC SECRET FIRST STEP COUNT OF
 *
 * Keys are in hexadecimal; nodes are n<FIRST>, n<FIRST+STEP>, ..., COUNT of them, of OF in all. Standard output: the
 * byte 'j' when all have registered; for each request COUNT doubles, when each agent had read it (CLOCK_MONOTONIC);
 * 'r' when all have been released again. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { COMMAND = 4, LONG = 2, BATCH = 512, MAC = crypto_box_MACBYTES, HEARTBEAT = 5 };

struct agent {
    int socket, number, filled;
    uint64_t nonce;
    double pinged;
    unsigned char key[crypto_box_BEFORENMBYTES], buffer[2048];
};

static struct agent *agents;
static unsigned char server[32], public[32], secret[32];
static int count, of;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void tell(const void *data, size_t size)
{
    for (const char *at = data; size;) {
        ssize_t sent = write(1, at, size);
        if (sent < 0) die("standard output");
        at += sent, size -= (size_t)sent;
    }
}

static void put(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) at[i] = (unsigned char)(value >> 8 * (bytes - 1 - i));
}

static void nonce_of(unsigned char *nonce, const char *prefix, uint64_t number)
{
    memcpy(nonce, prefix, 16);
    put(nonce + 16, number, 8);
}

static void all(int socket, const void *data, size_t size)
{
    for (const char *at = data; size;) {
        ssize_t sent = send(socket, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) continue;
        if (sent <= 0) die("send");
        at += sent, size -= (size_t)sent;
    }
}

static void exactly(int socket, void *data, size_t size)
{
    if (recv(socket, data, size, MSG_WAITALL) != (ssize_t)size) die("handshake");
}

static size_t property(unsigned char *at, const char *name, const char *value)
{
    size_t length = strlen(name), size = strlen(value);
    *at = (unsigned char)length;
    memcpy(at + 1, name, length);
    put(at + 1 + length, size, 4);
    memcpy(at + 5 + length, value, size);
    return 5 + length + size;
}

/* The handshake of CURVE: HELLO, WELCOME, INITIATE, READY. */
static void shake(struct agent *agent)
{
    unsigned char greeting[64] = {0xff, [8] = 1, 0x7f, 3, 0, 'C', 'U', 'R', 'V', 'E'}, their[64];
    unsigned char mine[32], hidden[32], nonce[24], out[512] = {COMMAND, 200}, in[512], plain[512] = {0};
    all(agent->socket, greeting, sizeof greeting);
    exactly(agent->socket, their, sizeof their);
    crypto_box_keypair(mine, hidden);
    memcpy(out + 2, "\5HELLO\1\0", 8);
    memcpy(out + 82, mine, 32);
    put(out + 114, 1, 8);
    nonce_of(nonce, "CurveZMQHELLO---", 1);
    if (crypto_box_easy(out + 122, plain, 64, nonce, server, hidden)) die("HELLO");
    all(agent->socket, out, 202);
    exactly(agent->socket, in, 170);
    memcpy(nonce, "WELCOME-", 8);
    memcpy(nonce + 8, in + 10, 16);
    if (crypto_box_open_easy(plain, in + 26, 144, nonce, server, hidden)) die("WELCOME");
    unsigned char *theirs = plain, *cookie = plain + 32, text[256];
    char name[32];
    memcpy(text, public, 32);
    memcpy(nonce, "VOUCH---", 8);
    randombytes_buf(nonce + 8, 16);
    memcpy(text + 32, nonce + 8, 16);
    unsigned char vouch[64];
    memcpy(vouch, mine, 32);
    memcpy(vouch + 32, server, 32);
    if (crypto_box_easy(text + 48, vouch, 64, nonce, theirs, secret)) die("vouch");
    size_t size = 128 + property(text + 128, "Socket-Type", "DEALER");
    snprintf(name, sizeof name, "agent:n%d", agent->number);
    size += property(text + size, "Identity", name);
    out[0] = COMMAND | LONG;
    put(out + 1, 113 + size + MAC, 8);
    memcpy(out + 9, "\10INITIATE", 9);
    memcpy(out + 18, cookie, 96);
    put(out + 114, 2, 8);
    nonce_of(nonce, "CurveZMQINITIATE", 2);
    if (crypto_box_easy(out + 122, text, size, nonce, theirs, hidden)) die("INITIATE");
    all(agent->socket, out, 122 + size + MAC);
    if (crypto_box_beforenm(agent->key, theirs, hidden)) die("key");
    exactly(agent->socket, in, 2);
    exactly(agent->socket, in + 2, in[1]);
    if (memcmp(in + 2, "\5READY", 6)) die("not admitted");
    agent->nonce = 3;
}

/* Send a message, or a command of ZMTP. */
static void say(struct agent *agent, const void *content, size_t size, int command)
{
    unsigned char out[256] = {0, (unsigned char)(16 + 1 + size + MAC)}, plain[200], nonce[24];
    if (size > sizeof plain - 1) abort();
    memcpy(out + 2, "\7MESSAGE", 8);
    put(out + 10, agent->nonce, 8);
    nonce_of(nonce, "CurveZMQMESSAGEC", agent->nonce++);
    plain[0] = command ? 2 : 0;
    memcpy(plain + 1, content, size);
    crypto_box_easy_afternm(out + 18, plain, 1 + size, nonce, agent->key);
    all(agent->socket, out, 18 + 1 + size + MAC);
}

/* MessagePack, as much of it as is spoken here. */
static unsigned char *word(unsigned char *at, const char *text)
{
    size_t size = strlen(text);
    *at = (unsigned char)(0xa0 | size);
    memcpy(at + 1, text, size);
    return at + 1 + size;
}

static unsigned char *number(unsigned char *at, const char *name, uint32_t value)
{
    at = word(at, name);
    *at = 0xce;
    put(at + 1, value, 4);
    return at + 5;
}

static void answer(struct agent *agent, const char *type, int fields, const char *first, uint32_t one, const char *then,
                   uint32_t two, int more)
{
    unsigned char out[200] = {1, (unsigned char)(0x80 | fields)}, *at = word(word(out + 2, "type"), type);
    char node[16];
    snprintf(node, sizeof node, "n%d", agent->number);
    at = number(word(word(at, "node"), node), first, one);
    if (then) at = number(at, then, two);
    if (more) at = strcmp(type, "answered") ? word(word(at, "why"), "it is only measured") : number(at, "top", 1);
    say(agent, out, (size_t)(at - out), 0);
}

/* The value of a field that is a small number; -1 where there is none. */
static int64_t field(const unsigned char *text, size_t size, const char *name)
{
    unsigned char wanted[32];
    size_t length = (size_t)(word(wanted, name) - wanted);
    const unsigned char *at = memmem(text, size, wanted, length);
    if (!at) return -1;
    at += length;
    return *at < 0x80 ? *at : *at == 0xcc ? at[1] : *at == 0xcd ? at[1] << 8 | at[2] : -1;
}

static double *times;
static int informed, released;

static void take(struct agent *agent, const unsigned char *text, size_t size)
{
    double at = now();
    int64_t epoch = field(text, size, "epoch"), round = field(text, size, "round");
    if (memmem(text, size, "\243ask", 4)) {
        if (round == 1) {
            times[informed++] = at;
            released = 0;
        }
        answer(agent, "answered", 5, "epoch", (uint32_t)epoch, "round", (uint32_t)round, 1);
        if (informed == count) {
            tell(times, sizeof *times * (size_t)count);
            informed = 0;
        }
    } else if (agent->number == 0 && memmem(text, size, "\245grant", 6)) {
        answer(agent, "commit-failed", 4, "epoch", (uint32_t)epoch, NULL, 0, 1);
    } else if (memmem(text, size, "\247release", 8) && ++released == count) {
        tell("r", 1);
    }
}

/* Take in what has come over a connection. */
static void hear(struct agent *agent)
{
    ssize_t got = recv(agent->socket, agent->buffer + agent->filled, sizeof agent->buffer - (size_t)agent->filled, 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) die("recv");
    agent->filled += (int)got;
    unsigned char *at = agent->buffer, plain[2048], nonce[24];
    while (agent->filled >= 2) {
        if (at[0] & LONG) die("a longer message than agents are sent");
        int size = at[1];
        if (agent->filled < 2 + size) break;
        memcpy(nonce, "CurveZMQMESSAGES", 16);
        memcpy(nonce + 16, at + 10, 8);
        if (crypto_box_open_easy_afternm(plain, at + 18, (size_t)size - 16, nonce, agent->key)) die("a forged message");
        if (!(plain[0] & 2)) take(agent, plain + 1, (size_t)size - 16 - MAC - 1);
        at += 2 + size, agent->filled -= 2 + size;
    }
    memmove(agent->buffer, at, (size_t)agent->filled);
}

int main(int argc, char **argv)
{
    if (argc != 9 || sodium_init() < 0) return 2;
    for (int key = 0; key < 3; key++)
        sodium_hex2bin(key == 0 ? server : key == 1 ? public : secret, 32, argv[2 + key], 64, NULL, NULL, NULL);
    int first = atoi(argv[5]), step = atoi(argv[6]), ready = epoll_create1(0);
    count = atoi(argv[7]), of = atoi(argv[8]);
    agents = calloc((size_t)count, sizeof *agents);
    times = calloc((size_t)count, sizeof *times);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1])),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = 0; i < count; i++) {
        struct agent *agent = &agents[i];
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = agent};
        int on = 1;
        agent->number = first + i * step;
        agent->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(agent->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (connect(agent->socket, (struct sockaddr *)&place, sizeof place)) die("connect");
        shake(agent);
        fcntl(agent->socket, F_SETFL, O_NONBLOCK);
        epoll_ctl(ready, EPOLL_CTL_ADD, agent->socket, &event);
        answer(agent, "joined", 4, "ranks", 1, "of", (uint32_t)of, 0);
        agent->pinged = now();
    }
    tell("j", 1);
    struct epoll_event events[BATCH];
    for (int next = 0;;) {
        int found = epoll_wait(ready, events, BATCH, 20);
        for (int i = 0; i < found; i++) hear(events[i].data.ptr);
        /* ZMTP's own heartbeat, as often as agents send it. */
        double at = now();
        for (int i = 0; i < BATCH && at - agents[next].pinged > HEARTBEAT; i++, next = (next + 1) % count) {
            say(&agents[next], "\4PING\0\226", 7, 1);
            agents[next].pinged = at;
        }
    }
}
