#include "programs/report/sheet.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 2048 };

void sheet_title(Sheet *sheet, const char *format, ...) {
    char text[TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sheet->kind->title(sheet, text);
}

void sheet_heading(Sheet *sheet, const char *format, ...) {
    char text[TEXT];
    int number = snprintf(text, sizeof text, "%d. ", ++sheet->step);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + number, sizeof text - (size_t)number, format, arguments);
    va_end(arguments);
    sheet->kind->heading(sheet, text);
}

void sheet_say(Sheet *sheet, const char *format, ...) {
    char text[TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sheet->kind->paragraph(sheet, text);
}

double sheet_largest(const Bars *lists, int count) {
    double largest = 0;
    for (int l = 0; l < count; l++)
        for (int i = 0; i < lists[l].count; i++)
            if (fabs(lists[l].values[i]) > largest) largest = fabs(lists[l].values[i]);
    return largest;
}

void sheet_number(char text[NUMBER_SIZE], double number) {
    if (!(fabs(number) < 1e5)) {
        snprintf(text, NUMBER_SIZE, isfinite(number) ? "%.0e" : "%f", number);
        return;
    }
    for (int decimals = 3; decimals >= 0; decimals--)
        if (snprintf(text, NUMBER_SIZE, "%.*f", decimals, number) <= NUMBER_COLUMNS) break;
    if (strspn(text, "-0.") == strlen(text) && *text == '-') /* no minus before 0 */
        memmove(text, text + 1, strlen(text));
}
