/* The parts of report.html: each writes what stands for one {{name}} of the template. */
#ifndef RER_PAGE_H
#define RER_PAGE_H

#include "report/report.h"

typedef struct rer_page {
    rer_writer *writer;
    const rer_result *result;
    const rer_dataset *data;
    rer_thumbnails *thumbnails; /* NULL where the rows are no pictures */
} rer_page;

rer_status rer_page_suspects(const rer_page *page);
rer_status rer_page_classes(const rer_page *page);
rer_status rer_page_pairs(const rer_page *page);

#endif
