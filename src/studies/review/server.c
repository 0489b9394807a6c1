/* HTTP for a review, by libmicrohttpd: who may ask, how much, how long.
 *
 * The server listens on 127.0.0.1 alone. An address holds a random token; without it nothing is served. Host and Origin
 * must be this machine's, so that no page from elsewhere reaches it by a name of its own. A request has so many bytes
 * and seconds; whoever keeps connections open without having shown the token makes way for the next one.
 *
 * The library is loaded when a review begins, and not linked: it brings ten others (TLS, which is not used here), and no
 * other command is to wait for them. */
#include "studies/review/review.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

enum {
    TOKEN_BYTES = 16,
    TOKEN_TEXT = 2 * TOKEN_BYTES,
    WORKERS = 4,
    CONNECTIONS = 256,
    CROWDED = 48,            /* connections, from which on strangers make way */
    HEADERS_MOST = 32 << 10, /* bytes */
    BODY_MOST = 1 << 20,
    IDLE_SECONDS = 15,
    REQUEST_SECONDS = 20, /* from its first byte to its last */
    ANSWER_SECONDS = 600, /* a large picture, over a slow tunnel */
    PULSE_MILLISECONDS = 100,
};

/* ---- the library ------------------------------------------------------------------------------ */

#define FOR_EACH_FUNCTION(DO)                                                                                          \
    DO(MHD_start_daemon)                                                                                               \
    DO(MHD_stop_daemon)                                                                                                \
    DO(MHD_get_daemon_info)                                                                                            \
    DO(MHD_get_connection_info)                                                                                        \
    DO(MHD_lookup_connection_value)                                                                                    \
    DO(MHD_create_response_from_buffer)                                                                                \
    DO(MHD_add_response_header)                                                                                        \
    DO(MHD_queue_response)                                                                                             \
    DO(MHD_destroy_response)

#define MEMBER(name) __typeof__(&name) name;
static struct library {
    FOR_EACH_FUNCTION(MEMBER)
} http; /* the same in every thread that fills it */

#define TAKE(name)                                                                                                     \
    symbol = dlsym(handle, #name);                                                                                     \
    memcpy(&http.name, &symbol, sizeof symbol);                                                                        \
    all = all && symbol != NULL;

/* It stays: nothing that has threads is unloaded. */
rer_status rer_server_load(rer_error *error)
{
    void *handle = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL), *symbol = NULL;
    bool all = handle != NULL;
    if (all) {
        FOR_EACH_FUNCTION(TAKE)
    }
    if (all)
        return RER_OK;
    return rer_fail(error, RER_SYSTEM,
                    "rer review needs the library libmicrohttpd, which is not here; install it (on Debian: "
                    "libmicrohttpd12), or open report.html as it is");
}

/* ---- connections ------------------------------------------------------------------------------ */

typedef struct slot { /* a connection */
    int fd;           /* -1: free */
    double since;     /* it was opened, or its last answer was begun */
    bool is_trusted;  /* has shown the token */
    bool is_answered; /* what follows is an answer on its way */
    bool is_going;    /* was sent away */
} slot;

typedef struct server {
    rer_review *review;
    struct MHD_Daemon *daemon;
    char token[TOKEN_TEXT + 1];
    char *policy;
    pthread_mutex_t lock; /* of the slots */
    slot slots[CONNECTIONS];
} server;

typedef struct body {
    char *bytes;
    int64_t size, capacity;
    bool is_too_large;
} body;

static slot *free_slot(server *s)
{
    for (int i = 0; i < CONNECTIONS; i++)
        if (s->slots[i].fd < 0)
            return &s->slots[i];
    return NULL;
}

static void send_away(slot *at)
{
    (void)shutdown(at->fd, SHUT_RDWR);
    at->is_going = true;
}

/* Where it is crowded, the stranger who has been here longest goes, and not the newcomer. */
static void make_way(server *s, const slot *newcomer)
{
    slot *oldest = NULL;
    int count = 0;
    for (int i = 0; i < CONNECTIONS; i++) {
        slot *at = &s->slots[i];
        if (at->fd < 0 || at->is_going)
            continue;
        count++;
        if (at != newcomer && !at->is_trusted && (oldest == NULL || at->since < oldest->since))
            oldest = at;
    }
    if (count > CROWDED && oldest != NULL)
        send_away(oldest);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode what)
{
    server *s = context;
    (void)pthread_mutex_lock(&s->lock);
    slot *at = what == MHD_CONNECTION_NOTIFY_STARTED ? free_slot(s) : *socket_context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED && at != NULL) {
        const union MHD_ConnectionInfo *info =
            http.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *at = (slot){.fd = info != NULL ? info->connect_fd : -1, .since = rer_now()};
        make_way(s, at);
    } else if (at != NULL) {
        at->fd = -1;
    }
    *socket_context = at;
    (void)pthread_mutex_unlock(&s->lock);
}

static void mark(server *s, struct MHD_Connection *connection, bool is_trusted, bool is_answered)
{
    const union MHD_ConnectionInfo *info = http.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    slot *at = info != NULL ? info->socket_context : NULL;
    if (at == NULL)
        return;
    (void)pthread_mutex_lock(&s->lock);
    at->is_trusted = at->is_trusted || is_trusted;
    at->is_answered = is_answered;
    at->since = is_answered ? rer_now() : at->since;
    (void)pthread_mutex_unlock(&s->lock);
}

/* Ends what takes too long, however busy it looks. */
static void end_slow(server *s)
{
    double now = rer_now();
    (void)pthread_mutex_lock(&s->lock);
    for (int i = 0; i < CONNECTIONS; i++) {
        slot *at = &s->slots[i];
        if (at->fd >= 0 && !at->is_going && now - at->since > (at->is_answered ? ANSWER_SECONDS : REQUEST_SECONDS))
            send_away(at);
    }
    (void)pthread_mutex_unlock(&s->lock);
}

/* ---- who may ask ------------------------------------------------------------------------------ */

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return http.MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* As long for a token that is nearly right. */
static bool is_token(const server *s, const char *path)
{
    unsigned different = 0;
    if (strlen(path) < TOKEN_TEXT)
        return false;
    for (int i = 0; i < TOKEN_TEXT; i++)
        different |= (unsigned)((unsigned char)path[i] ^ (unsigned char)s->token[i]);
    return different == 0 && path[TOKEN_TEXT] == '/';
}

/* 127.0.0.1 or localhost, with any port: a tunnel may have another one. */
static bool is_here(const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost"};
    for (int i = 0; host != NULL && i < RER_COUNT(names); i++) {
        size_t length = strlen(names[i]);
        const char *port = host + length;
        if (strncasecmp(host, names[i], length) != 0 || (*port != 0 && *port != ':'))
            continue;
        return *port == 0 || (port[1] != 0 && strlen(port) <= 6 && port[1 + strspn(port + 1, "0123456789")] == 0);
    }
    return false;
}

/* A page's own requests name its origin, which is the host that it asks. */
static bool is_same_origin(const char *origin, const char *host)
{
    return strncmp(origin, "http://", 7) == 0 && strcasecmp(origin + 7, host) == 0;
}

static bool is_allowed(struct MHD_Connection *connection, bool is_post)
{
    const char *host = header(connection, "Host"), *origin = header(connection, "Origin");
    const char *site = header(connection, "Sec-Fetch-Site");
    if (!is_here(host))
        return false;
    if (origin != NULL ? !is_same_origin(origin, host) : is_post)
        return false;
    return site == NULL || strcmp(site, "same-origin") == 0 || (!is_post && origin == NULL);
}

/* ---- answers ---------------------------------------------------------------------------------- */

/* `bytes` are freed when they were sent. */
static enum MHD_Result send_answer(server *s, struct MHD_Connection *connection, const rer_answer *answer)
{
    struct MHD_Response *response = NULL;
    if (answer->bytes != NULL)
        response = http.MHD_create_response_from_buffer((size_t)answer->size, answer->bytes, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        free(answer->bytes);
        return MHD_NO;
    }
    const char *const headers[][2] = {{"Content-Type", answer->type},
                                      {"Content-Security-Policy", s->policy},
                                      {"X-Content-Type-Options", "nosniff"},
                                      {"Referrer-Policy", "no-referrer"},
                                      {"Cross-Origin-Resource-Policy", "same-origin"},
                                      {"Cache-Control", "no-store"}};
    for (int i = 0; i < RER_COUNT(headers); i++)
        (void)http.MHD_add_response_header(response, headers[i][0], headers[i][1]);
    if (answer->status >= 400)
        (void)http.MHD_add_response_header(response, "Connection", "close");
    mark(s, connection, false, true);
    enum MHD_Result result = http.MHD_queue_response(connection, (unsigned)answer->status, response);
    http.MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse(server *s, struct MHD_Connection *connection, int status, const char *why)
{
    char *text = strdup(why);
    rer_answer answer = {status, "text/plain; charset=utf-8", text, (int64_t)strlen(why)};
    return send_answer(s, connection, &answer);
}

static const char *query_of(void *connection, const char *name)
{
    return http.MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

static enum MHD_Result answer_request(server *s, struct MHD_Connection *connection, const char *path, bool is_post,
                                      const body *sent)
{
    rer_answer answer = {0};
    rer_request request = {.is_post = is_post,
                           .path = path + 1 + TOKEN_TEXT + 1,
                           .query = query_of,
                           .context = connection,
                           .body = sent->bytes != NULL ? sent->bytes : "",
                           .size = sent->size};
    if (sent->is_too_large)
        return refuse(s, connection, MHD_HTTP_CONTENT_TOO_LARGE, "this is too large");
    rer_review_answer(&answer, s->review, &request);
    return send_answer(s, connection, &answer);
}

/* Why a request is not looked at; NULL: it is. */
static const char *refusal(const server *s, struct MHD_Connection *connection, const char *path, const char *method,
                           int *status)
{
    bool is_post = strcmp(method, "POST") == 0;
    const char *type = header(connection, "Content-Type");
    *status = MHD_HTTP_FORBIDDEN;
    if (path[0] != '/' || !is_token(s, path + 1))
        return "use the address that rer review has printed";
    if (!is_allowed(connection, is_post))
        return "this server is for pages of its own";
    *status = MHD_HTTP_METHOD_NOT_ALLOWED;
    if (!is_post && strcmp(method, "GET") != 0)
        return "GET and POST are served";
    *status = MHD_HTTP_UNSUPPORTED_MEDIA_TYPE;
    if (is_post && (type == NULL || strcmp(type, "application/json") != 0))
        return "JSON is expected";
    return NULL;
}

static void take_bytes(body *sent, const char *data, size_t size)
{
    if (sent->size + (int64_t)size > BODY_MOST ||
        rer_grow(&sent->bytes, &sent->capacity, sent->size + (int64_t)size, 1, "a request", NULL) != RER_OK) {
        sent->is_too_large = true;
        return;
    }
    memcpy(sent->bytes + sent->size, data, size);
    sent->size += (int64_t)size;
}

/* Called for the headers, for each piece of what follows, and at the end. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *data, size_t *size,
                                  void **request)
{
    server *s = context;
    int status = 0;
    (void)version;
    if (*request == NULL) {
        const char *why = refusal(s, connection, path, method, &status);
        if (why != NULL)
            return refuse(s, connection, status, why);
        mark(s, connection, true, false);
        *request = calloc(1, sizeof(body));
        return *request != NULL ? MHD_YES : MHD_NO;
    }
    if (*size > 0) {
        take_bytes(*request, data, *size);
        *size = 0;
        return MHD_YES;
    }
    return answer_request(s, connection, path, strcmp(method, "POST") == 0, *request);
}

static void on_end(void *context, struct MHD_Connection *connection, void **request,
                   enum MHD_RequestTerminationCode how)
{
    body *sent = *request;
    (void)how;
    if (sent != NULL)
        RER_FREE_ALL(sent->bytes, sent);
    *request = NULL;
    mark(context, connection, false, true); /* the time of the next one begins */
    mark(context, connection, false, false);
}

/* ---- the server ------------------------------------------------------------------------------- */

static rer_status make_token(server *s, rer_error *error)
{
    unsigned char bytes[TOKEN_BYTES];
    if (getentropy(bytes, sizeof bytes) != 0)
        return rer_fail_errno(error, "no random number could be had");
    for (int i = 0; i < TOKEN_BYTES; i++)
        (void)snprintf(s->token + (ptrdiff_t)2 * i, 3, "%02x", bytes[i]);
    return RER_OK;
}

static void keep_silent(void *context, const char *format, va_list arguments)
{
    (void)context, (void)format, (void)arguments;
}

/* Signals stay with the threads that the caller has. */
static rer_status start(server *s, int32_t port, rer_error *error)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    s->daemon = http.MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD, (uint16_t)port, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER,
        keep_silent, NULL, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address, MHD_OPTION_THREAD_POOL_SIZE,
        (unsigned)WORKERS, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS_MOST, MHD_OPTION_NOTIFY_COMPLETED,
        on_end, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_END);
    int code = errno;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (s->daemon != NULL)
        return RER_OK;
    errno = code;
    return rer_fail(error, RER_SYSTEM, "127.0.0.1:%d cannot be listened on%s; choose another port", port,
                    code == EADDRINUSE ? ": it is in use" : "");
}

static bool is_stopped(const rer_progress *progress)
{
    return progress != NULL && progress->report != NULL && progress->report(progress->context, "reviewing", 0);
}

static void serve(server *s, const rer_progress *progress)
{
    const struct timespec pulse = {.tv_nsec = PULSE_MILLISECONDS * 1000000L};
    while (!is_stopped(progress)) {
        (void)nanosleep(&pulse, NULL);
        end_slow(s);
    }
}

static void tell(const server *s, void (*ready)(void *context, const char *address), void *context)
{
    char address[100];
    const union MHD_DaemonInfo *info = http.MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    (void)snprintf(address, sizeof address, "http://127.0.0.1:%d/%s/", info != NULL ? info->port : 0, s->token);
    if (ready != NULL)
        ready(context, address);
}

rer_status rer_server_run(rer_review *review, int32_t port, void (*ready)(void *context, const char *address),
                          void *context, const rer_progress *progress, rer_error *error)
{
    server s = {.review = review};
    (void)pthread_mutex_init(&s.lock, NULL);
    for (int i = 0; i < CONNECTIONS; i++)
        s.slots[i].fd = -1;
    rer_status status = make_token(&s, error);
    RER_THEN(status, rer_review_policy(&s.policy, error));
    RER_THEN(status, start(&s, port, error));
    if (status == RER_OK) {
        tell(&s, ready, context);
        serve(&s, progress);
        http.MHD_stop_daemon(s.daemon);
    }
    free(s.policy);
    (void)pthread_mutex_destroy(&s.lock);
    return status;
}
