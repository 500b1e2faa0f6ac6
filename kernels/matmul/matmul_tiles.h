/* Products of matrices for one element type and one kind of vector: `vector_kinds.h` includes this for each. */

/* Rows and vectors of columns of a full tile, and vectors of a low one, whose sums registers hold; terms with constant
   addresses, where counting takes too much of what the processor starts at a time, and what keeps a sum in its
   register, or the compiler moves them about and has too few. */
#if VECTOR_BYTES == 64
#define ROWS 14
#define VECTORS 2
#define LOW_VECTORS 4
#define TERMS 2
#define KEEP(sum, one, columns) __asm__("" : "+v"(sum) : "v"(one), "v"(columns))
#elif VECTOR_BYTES == 32
#define ROWS 6
#define VECTORS 2
#define LOW_VECTORS 2
#define TERMS 4
#define KEEP(sum, one, columns) __asm__("" : "+x"(sum) : "x"(one), "x"(columns))
#else
#define ROWS 6
#define VECTORS 4
#define LOW_VECTORS 4
#define TERMS 1
#define KEEP(sum, one, columns)
#endif

/* Fetch what a tile reads and writes at its end in one row. */
INLINE void NAME(fetch_row)(const ProductTile *t, int64_t row, int vectors) {
    const char *place = t->to + row * t->to_step, *before = t->before + row * vectors * sizeof(VECTOR);
    __builtin_prefetch(place, 1);
    __builtin_prefetch(place + vectors * sizeof(VECTOR) - 1, 1);
    if (t->before)
        UNROLL for (int number = 0; number < vectors; number++) __builtin_prefetch(before + number * sizeof(VECTOR));
}

/* Add the products of one term, some bytes behind the lines: each is the address of `of_line` rows. */
INLINE void NAME(add_term)(
    int rows, int vectors, const char *const *lines, int of_line, int64_t row_step, int64_t behind, const char *right,
    char *copy, VECTOR sums[ROWS][LOW_VECTORS]) {
    VECTOR columns[LOW_VECTORS];
    UNROLL for (int number = 0; number < vectors; number++) columns[number] = LOAD(right + number * sizeof(VECTOR));
    if (copy)
        UNROLL for (int number = 0; number < vectors; number++)
            *(NAME(Loose) *)(copy + number * sizeof(VECTOR)) = columns[number];
    UNROLL for (int row = 0; row < rows; row++) {
        VECTOR one = REPEATED(*(const NAME(Item) *)(lines[row / of_line] + behind + row % of_line * row_step));
        UNROLL for (int number = 0; number < vectors; number++) {
            sums[row][number] = FUSED(one, columns[number], sums[row][number]);
            KEEP(sums[row][number], one, columns[number]);
        }
    }
}

/* Add those of the terms up to `end`, `together` at a time, a constant, and fetch `ahead` bytes of rows meanwhile. The
   address of the columns says when to stop, so that it has to move. */
INLINE void NAME(add_terms)(
    int rows, int vectors, int together, int64_t ahead, const char **lines, int of_line, int64_t row_step,
    int64_t term_step, const char **right, int64_t right_step, const char *end, char **copy,
    VECTOR sums[ROWS][LOW_VECTORS]) {
    for (; together > 1 ? end - *right >= together * right_step : *right != end; *right += together * right_step) {
        /* Strips lie one after another, and processors stop at the end of a page. */
        UNROLL for (int64_t byte = 0; byte < ahead; byte += PRODUCT_LINE)
            __builtin_prefetch(lines[0] + byte + PRODUCT_AHEAD);
        UNROLL for (int term = 0; term < together; term++)
            NAME(add_term)(
                rows, vectors, lines, of_line, row_step, term * term_step, *right + term * right_step, *copy, sums);
        if (*copy) *copy += vectors * sizeof(VECTOR);
        UNROLL for (int line = 0; line < (rows + of_line - 1) / of_line; line++) {
            lines[line] += together * term_step;
            /* Or the compiler makes an address for each row of these. */
            __asm__("" : "+r"(lines[line]));
        }
    }
}

/* Write the sums of one part, added to those before, for `rows` rows and `vectors` vectors of columns, both constants,
   of the last vector `rest` columns. */
INLINE void NAME(tile)(int rows, int vectors, int64_t rest, ProductTile *t) {
    VECTOR sums[ROWS][LOW_VECTORS];
    const char *lines[(ROWS + 2) / 3], *right = t->right, *before = t->before;
    char *copy = t->copy, *none = 0;
    const int64_t item = sizeof(ITEM), strip_step = rows * item, panel_step = vectors * sizeof(VECTOR);
    int64_t row_step = t->row_step, term_step = t->term_step, right_step = t->right_step;
    int64_t between_rows = rows > PRODUCT_LOW_ROWS ? PRODUCT_STRETCH : PRODUCT_LEAST_STRETCH;
    int is_panel = TERMS > 1 && !copy && right_step == panel_step, is_plain = is_panel && term_step == item;
    int is_strip = is_panel && row_step == item && term_step == strip_step;
    int64_t most = rows <= PRODUCT_LOW_ROWS && (is_strip || is_plain) ? PRODUCT_LONG_STRETCH : PRODUCT_STRETCH;
    UNROLL for (int line = 0; line < (rows + 2) / 3; line++) lines[line] = t->left + 3 * line * row_step;
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int number = 0; number < vectors; number++) sums[row][number] = (VECTOR){0};
    for (t->term = t->row = t->due = 0; t->term < t->terms;) {
        if (t->row < rows && t->term >= t->row * between_rows) NAME(fetch_row)(t, t->row++, vectors);
        const char *end = right + product_stretch(t, most) * right_step;
        if (is_strip) {
            NAME(add_terms)(
                rows, vectors, TERMS, TERMS * strip_step, lines, rows, item, strip_step, &right, panel_step, end, &none,
                sums);
            NAME(add_terms)(
                rows, vectors, 1, item, lines, rows, item, strip_step, &right, panel_step, end, &none, sums);
        } else {
            if (is_plain)
                NAME(add_terms)(
                    rows, vectors, TERMS, 0, lines, 3, row_step, item, &right, panel_step, end, &none, sums);
            /* Too few registers are left for the address of each row. */
            NAME(add_terms)(
                rows, vectors, 1, item, lines, 3, row_step, term_step, &right, right_step, end, &copy, sums);
        }
    }
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int number = 0; number < vectors; number++) {
            char *place = t->to + row * t->to_step + number * sizeof(VECTOR);
            const char *so_far = before + (row * vectors + number) * sizeof(VECTOR);
            if (before) sums[row][number] = LOAD(so_far) + sums[row][number];
            if (number < vectors - 1 || rest == LANES) *(NAME(Loose) *)place = sums[row][number];
            else LEAVE(place, rest, sums[row][number]);
        }
}

#define TILE(rows, vectors)                       \
    case (vectors) * 16 + (rows):                 \
        NAME(tile)(rows, vectors, rest, t);       \
        return
#define LOW_TILES(vectors) \
    TILE(1, vectors); TILE(2, vectors); TILE(3, vectors); TILE(4, vectors); TILE(5, vectors); TILE(6, vectors);
#if LOW_VECTORS == 4
#define ALL_LOW_TILES LOW_TILES(1) LOW_TILES(2) LOW_TILES(3) LOW_TILES(4)
#else
#define ALL_LOW_TILES LOW_TILES(1) LOW_TILES(2)
#endif
#define HIGH_TILES(vectors)                                                               \
    TILE(7, vectors); TILE(8, vectors); TILE(9, vectors); TILE(10, vectors);              \
    TILE(11, vectors); TILE(12, vectors); TILE(13, vectors); TILE(14, vectors);

/* The tile of any size. */
static CODE void NAME(any_tile)(int64_t rows, int64_t columns, ProductTile *t) {
    int64_t vectors = (columns + LANES - 1) / LANES, rest = columns - (vectors - 1) * LANES;
    switch (vectors * 16 + rows) {
        ALL_LOW_TILES
#if ROWS == 14
        HIGH_TILES(1) HIGH_TILES(2)
#endif
    }
}

/* The same for one part that is all, whose columns may end within the last vector. */
INLINE void NAME(small_tile)(
    int rows, int vectors, int rest, const char *left, int64_t row_step, int64_t term_step, const char *right,
    int64_t right_step, int64_t terms, char *to, int64_t to_step) {
    VECTOR sums[PRODUCT_LOW_ROWS][LOW_VECTORS];
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int number = 0; number < vectors; number++) sums[row][number] = (VECTOR){0};
    for (int64_t term = 0; term < terms; term++, left += term_step, right += right_step) {
        VECTOR columns[LOW_VECTORS];
        UNROLL for (int number = 0; number < vectors; number++) {
            const char *place = right + number * sizeof(VECTOR);
            columns[number] = number < vectors - 1 ? LOAD(place) : SOME(place, rest);
        }
        UNROLL for (int row = 0; row < rows; row++) {
            VECTOR one = REPEATED(*(const NAME(Item) *)(left + row * row_step));
            UNROLL for (int number = 0; number < vectors; number++)
                sums[row][number] = FUSED(one, columns[number], sums[row][number]);
        }
    }
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int number = 0; number < vectors; number++) {
            char *place = to + row * to_step + number * sizeof(VECTOR);
            if (number < vectors - 1) *(NAME(Loose) *)place = sums[row][number];
            else LEAVE(place, rest, sums[row][number]);
        }
}

#undef TILE
#define TILE(rows, vectors)                                                                                       \
    case (vectors) * 16 + (rows):                                                                                 \
        NAME(small_tile)(                                                                                         \
            rows, vectors, rest, line, row_step, p->left.term_step, right, p->right.term_step, p->terms, place,   \
            to_step);                                                                                             \
        break

/* Neighbouring small matrices, whose columns lie side by side and fit a tile. */
static CODE void NAME(multiply_small)(
    const MatrixProduct *p, const char *left, const char *right, char *to, int64_t count, int64_t left_step,
    int64_t right_step) {
    int64_t item = sizeof(ITEM), to_step = p->columns * item, row_step = p->left.line_step;
    int64_t vectors = (p->columns + LANES - 1) / LANES;
    int rest = (int)(p->columns - (vectors - 1) * LANES);
    for (; count > 0; count--, left += left_step, right += right_step)
        for (int64_t row = 0; row < p->rows; row += PRODUCT_LOW_ROWS) {
            int64_t rows = p->rows - row < PRODUCT_LOW_ROWS ? p->rows - row : PRODUCT_LOW_ROWS;
            const char *line = left + row * row_step;
            char *place = to;
            to += rows * to_step;
            switch (vectors * 16 + rows) {
                ALL_LOW_TILES
            }
        }
}

/* Every other item of the result is from `a` and from `b`: of their first halves, or of their second ones. */
INLINE VECTOR NAME(zip)(VECTOR a, VECTOR b, int is_second) {
#if LANES == 16
    return is_second ? __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
                     : __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
#elif LANES == 8
    return is_second ? __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
                     : __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
#elif LANES == 4
    return is_second ? __builtin_shufflevector(a, b, 2, 6, 3, 7) : __builtin_shufflevector(a, b, 0, 4, 1, 5);
#else
    return is_second ? __builtin_shufflevector(a, b, 1, 3) : __builtin_shufflevector(a, b, 0, 2);
#endif
}

/* Write the first items of a vector, at least one. */
INLINE void NAME(put)(ITEM *to, int64_t count, VECTOR vector) {
    if (count < LANES) LEAVE(to, count, vector);
    else *(NAME(Loose) *)to = vector;
}

/* Write LANES terms of `lines` lines, at most LANES, whose terms lie side by side; behind them the last line's, but of
   all only the first `room` items. `to_step` is in items. */
INLINE void NAME(turn)(const char *from, int64_t line_step, int64_t lines, ITEM *to, int64_t to_step, int64_t room) {
    VECTOR a[LANES], b[LANES];
    UNROLL for (int line = 0; line < LANES; line++)
        a[line] = LOAD(from + (line < lines ? line : lines - 1) * line_step);
    UNROLL for (int round = LANES; round > 1; round /= 2) {
        UNROLL for (int i = 0; i < LANES / 2; i++) {
            b[2 * i] = NAME(zip)(a[i], a[i + LANES / 2], 0);
            b[2 * i + 1] = NAME(zip)(a[i], a[i + LANES / 2], 1);
        }
        UNROLL for (int i = 0; i < LANES; i++) a[i] = b[i];
    }
    if ((LANES - 1) * to_step + LANES <= room)
        UNROLL for (int term = 0; term < LANES; term++) *(NAME(Loose) *)(to + term * to_step) = a[term];
    else
        UNROLL for (int term = 0; term < LANES; term++) NAME(put)(to + term * to_step, room - term * to_step, a[term]);
}

/* Write a block with rows and columns exchanged. */
static CODE void NAME(mirror)(const char *from, int64_t step, int64_t rows, int64_t columns, char *to) {
    int64_t item = sizeof(ITEM), whole_rows = rows / LANES * LANES, whole_columns = columns / LANES * LANES;
    for (int64_t column = 0; column < whole_columns; column += LANES)
        for (int64_t row = 0; row < whole_rows; row += LANES)
            NAME(turn)(
                from + row * step + column * item, step, LANES, (ITEM *)(to + column * step + row * item), step / item,
                LANES * step);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = row < whole_rows ? whole_columns : 0; column < columns; column++)
            *(NAME(Item) *)(to + column * step + row * item) = *(const NAME(Item) *)(from + row * step + column * item);
}

/* Write lines of one part, for each term their items side by side, `width` of them; behind those of the lines anything.
   The next term's are written after them: where `width` is no multiple of LANES they overwrite what is behind. */
INLINE void NAME(pack)(
    const char *from, int64_t line_step, int64_t term_step, int64_t lines, int64_t width, int64_t terms, ITEM *to) {
    int64_t item = sizeof(ITEM), last = (lines - 1) / LANES * LANES, term = 0;
    if (line_step == item)
        for (; term < terms; term++, from += term_step, to += width) {
            for (int64_t line = 0; line < last; line += LANES) *(NAME(Loose) *)(to + line) = LOAD(from + line * item);
            VECTOR rest = lines - last == LANES ? LOAD(from + last * item) : SOME(from + last * item, lines - last);
            NAME(put)(to + last, (terms - term) * width - last, rest);
        }
    else if (term_step == item)
        for (; term + LANES <= terms; term += LANES)
            for (int64_t line = last; line >= 0; line -= LANES)
                NAME(turn)(
                    from + line * line_step + term * item, line_step, lines - line < LANES ? lines - line : LANES,
                    to + term * width + line, width, (terms - term) * width - line);
    for (; term < terms; term++)
        for (int64_t line = 0; line < width; line++)
            to[term * width + line] =
                line < lines ? *(const NAME(Item) *)(from + line * line_step + term * term_step) : 0;
}

/* Into how many strips rows are divided, equally. */
INLINE int64_t NAME(strips)(const MatrixProduct *p, int64_t rows) {
    int64_t height = rows <= PRODUCT_LOW_ROWS || p->terms <= PRODUCT_LOW_TERMS ? PRODUCT_LOW_ROWS : ROWS;
    return (rows + height - 1) / height;
}

/* Write some strips of the rows, part after part, each strip where those before it take their place. */
INLINE void NAME(pack_strips)(
    const MatrixProduct *p, const char *from, int64_t rows, int64_t first, int64_t end, int64_t terms, char *to) {
    int64_t step = p->left.line_step, strips = NAME(strips)(p, rows);
    for (int64_t strip = first; strip < end; strip++) {
        int64_t row = rows * strip / strips, height = rows * (strip + 1) / strips - row;
        char *part = to;
        for (int64_t term = 0; term < terms; term += PRODUCT_PART, part += p->packed_bytes) {
            int64_t here = terms - term < PRODUCT_PART ? terms - term : PRODUCT_PART;
            NAME(pack)(
                from + row * step + term * p->left.term_step, step, p->left.term_step, height, height, here,
                (ITEM *)part + row * here);
        }
    }
}

/* Write all rows of one part. */
static CODE void NAME(pack_rows)(const MatrixProduct *p, const char *from, int64_t rows, int64_t terms, char *to) {
    NAME(pack_strips)(p, from, rows, 0, NAME(strips)(p, rows), terms, to);
}

/* Write one share of the rows, all their parts: what lies in one page is read at one time. */
static CODE void NAME(pack_share)(const MatrixProduct *p, const char *from, int64_t rows, int64_t share, char *to) {
    int64_t strips = NAME(strips)(p, rows), shares = p->pack_shares;
    NAME(pack_strips)(p, from, rows, strips * share / shares, strips * (share + 1) / shares, p->terms, to);
}

/* Multiply a block of rows with a block of columns, part by part and panel by panel. `packed` has all parts of the rows
   as strips, if they are shared. `work` holds a panel, behind it one part of the rows, and behind that the sums of the
   parts so far: for each panel all rows, as whole vectors. */
static CODE void NAME(multiply_block)(
    const MatrixProduct *p, const char *left, const char *right, char *to, int64_t rows, int64_t columns, char *work,
    const char *packed) {
    int64_t item = sizeof(ITEM), column_step = p->right.line_step, right_step = p->right.term_step;
    int64_t is_readable = column_step == item && right_step, is_direct = is_readable && rows <= PRODUCT_DIRECT_ROWS;
    int64_t is_low = rows <= PRODUCT_LOW_ROWS || p->terms <= PRODUCT_LOW_TERMS, strips = NAME(strips)(p, rows);
    int64_t width = (is_low ? LOW_VECTORS : VECTORS) * LANES;
    int64_t packs = p->left.term_step != item ? columns > 2 * width : !is_low && columns >= PRODUCT_PACKED_COLUMNS;
    char *copy = work + PRODUCT_PART * width * item, *kept = copy + PRODUCT_PART * rows * item;
    ITEM *panel = (ITEM *)work;
    ProductTile t;
    product_look(&t.ahead, p, right, columns < width ? columns : width, product_terms(p, 0), 1);
    while (t.ahead.left) product_fetch(&t.ahead);
    for (int64_t first = 0; first < p->terms; first += PRODUCT_PART) {
        int64_t is_last = first + PRODUCT_PART >= p->terms;
        const char *line = left + first * p->left.term_step, *from = right + first * right_step;
        t.terms = product_terms(p, first);
        const char *strip_items = packed ? packed + first / PRODUCT_PART * p->packed_bytes : packs ? copy : 0;
        if (packs && !packed) NAME(pack_rows)(p, line, rows, t.terms, copy);
        for (int64_t column = 0; column < columns; column += width) {
            int64_t here = columns - column < width ? columns - column : width;
            int64_t whole = (here + LANES - 1) / LANES * LANES, left_columns = columns - column - here;
            t.right = from + column * column_step, t.right_step = right_step;
            if (left_columns)
                product_look(
                    &t.ahead, p, t.right + here * column_step, left_columns < width ? left_columns : width,
                    t.terms, strips * t.terms);
            else
                product_look(
                    &t.ahead, p, from + PRODUCT_PART * right_step, columns < width ? columns : width,
                    product_terms(p, first + PRODUCT_PART), strips * t.terms);
            /* What is left of whole vectors is always copied; whole ones by the first tile, if others follow. */
            int64_t is_copied = !is_direct || here != whole;
            t.copy = is_copied && here == whole && is_readable && strips > 1 ? work : 0;
            if (is_copied && !t.copy) {
                NAME(pack)(t.right, column_step, right_step, here, whole, t.terms, panel);
                t.right = (const char *)panel, t.right_step = whole * item;
            }
            t.to_step = is_last ? p->columns * item : whole * item;
            for (int64_t strip = 0; strip < strips; strip++) {
                int64_t row = rows * strip / strips, end = rows * (strip + 1) / strips;
                char *sums = kept + (column * rows + row * whole) * item;
                t.before = first ? sums : 0;
                t.to = is_last ? to + (row * p->columns + column) * item : sums;
                t.left = strip_items ? strip_items + row * t.terms * item : line + row * p->left.line_step;
                t.row_step = strip_items ? item : p->left.line_step;
                t.term_step = strip_items ? (end - row) * item : p->left.term_step;
                NAME(any_tile)(end - row, is_last ? here : whole, &t);
                if (t.copy) t.copy = 0, t.right = (const char *)panel, t.right_step = whole * item;
            }
        }
    }
}

#undef TILE
#undef LOW_TILES
#undef ALL_LOW_TILES
#undef HIGH_TILES
#undef ROWS
#undef VECTORS
#undef LOW_VECTORS
#undef TERMS
#undef KEEP
