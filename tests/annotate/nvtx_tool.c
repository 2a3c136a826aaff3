/* A tool for NVTX that writes a line per call: kind, domain, thread, name or number, colour; with tabs between.
 *
 * Only what the tests need of NVTX's interface for tools (version 3) is declared, by the layouts of its public headers.
 * TRACEQ_TEST_NVTX_LOG names the file. With -DEXTENSION=0 it refuses extensions of NVTX as Nsight Systems 2022.4 does,
 * with -DEXTENSION=1 it takes them, without EXTENSION it knows none. With -DSILENT it writes nothing: what is left is what
 * NVTX costs. */

#define _GNU_SOURCE
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLBACKS_TABLE = 1, DOMAIN_MODULE = 5 };
enum { MARK = 1, START = 2, END = 3, PUSH = 4, POP = 5, REGISTER_STRING = 10, CREATE = 12, DESTROY = 14 };
enum { REGISTERED_MESSAGE = 3 };

struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t colour_type;
    uint32_t colour;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const char *message;
};

struct callbacks {
    size_t size;
    int (*functions)(int module, void ****table, unsigned *count);
};

static FILE *out;
static atomic_ullong ranges;

static void write_line(const char *kind, const char *domain, const char *name, uint32_t colour) {
    (void)kind, (void)domain, (void)name, (void)colour;
#ifndef SILENT
    fprintf(out, "%s\t%s\t%d\t%s\t%08x\n", kind, domain, (int)gettid(), name, colour);
    fflush(out);
#endif
}

static void write_event(const char *kind, const char *domain, const struct attributes *event) {
    write_line(kind, domain, event->message_type == REGISTERED_MESSAGE ? event->message : "?", event->colour);
}

static void *create(const char *name) { return strdup(name); }
static void destroy(char *domain) { (void)domain; }
static void *register_string(const char *domain, const char *text) {
    write_line("string", domain, text, 0);
    return strdup(text);
}

static void mark(const char *domain, const struct attributes *event) { write_event("mark", domain, event); }
static int push(const char *domain, const struct attributes *event) {
    write_event("push", domain, event);
    return 0;
}
static int pop(const char *domain) {
    write_line("pop", domain, "", 0);
    return 0;
}
static uint64_t start(const char *domain, const struct attributes *event) {
    write_event("start", domain, event);
    return ++ranges;
}
static void end(const char *domain, uint64_t range) {
    char number[24];
    snprintf(number, sizeof number, "%llu", (unsigned long long)range);
    write_line("end", domain, number, 0);
}

int InitializeInjectionNvtx2(const void *(*table_of)(uint32_t)) {
    const struct callbacks *callbacks = table_of(CALLBACKS_TABLE);
    void ***table = NULL;
    unsigned count = 0;
    out = fopen(getenv("TRACEQ_TEST_NVTX_LOG"), "a");
    if (!out || !callbacks || !callbacks->functions(DOMAIN_MODULE, &table, &count) || count <= DESTROY) return 0;
    *table[MARK] = mark;
    *table[START] = start;
    *table[END] = end;
    *table[PUSH] = push;
    *table[POP] = pop;
    *table[REGISTER_STRING] = register_string;
    *table[CREATE] = create;
    *table[DESTROY] = destroy;
    return 1;
}

#ifdef EXTENSION
int InitializeInjectionNvtxExtension(void *module) {
    (void)module;
    return EXTENSION;
}
#endif
