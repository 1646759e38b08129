/* Reader of lines of numbers, the form of job logs in the Standard Workload Format. */
#include <stdint.h>

/* Powers of ten, all exact as floats. */
static const double POWERS[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

static int is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* Read a number of at most 15 digits, which is exact as a float; return the position after the number, or NULL for any
 * other text. */
static const char *number(const char *at, const char *end, double *value) {
    int negative = at < end && *at == '-', digits = 0, decimals = 0, point = 0;
    int64_t whole = 0;
    for (at += negative; at < end && digits < 16; at++) {
        if (*at >= '0' && *at <= '9') {
            whole = 10 * whole + (*at - '0');
            digits++;
            decimals += point;
        } else if (*at == '.' && !point)
            point = 1;
        else
            break;
    }
    if (!digits || digits > 15 || (at < end && !is_space(*at)))
        return 0;
    *value = (double)whole / POWERS[decimals];
    if (negative)
        *value = -*value;
    return at;
}

/* Read the lines that are neither empty nor begin with ";", and return their number.
 *
 * The first `fields` numbers of row i are written to values[i], values[room + i], ..., and the row's line number, from
 * 1, to line[i]. odd[i] is set if one of the row's first `fields` words is missing or cannot be read exactly. */
int64_t rows(
    const char *text, int64_t length, int64_t fields, int64_t room, double *values, int64_t *line, uint8_t *odd
) {
    const char *at = text, *last = text + length;
    int64_t row = 0;
    for (int64_t count = 1; at < last; count++, at++) {
        const char *end = at;
        while (end < last && *end != '\n')
            end++;
        const char *word = at;
        while (word < end && is_space(*word))
            word++;
        if (word < end && *word != ';') {
            int64_t field = 0;
            while (field < fields && word && word < end) {
                word = number(word, end, values + field * room + row);
                field += word != 0;
                while (word && word < end && is_space(*word))
                    word++;
            }
            line[row] = count;
            odd[row++] = field < fields;
        }
        at = end;
    }
    return row;
}
