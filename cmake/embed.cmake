# Files that are compiled in. As an include:
#     rer_embed(OUT_VARIABLE symbol file)    adds a rule, and the generated source to OUT_VARIABLE
# which declares `const char symbol[]` (zero-terminated) and `const char symbol_sha256[]` (base64, as a
# Content-Security-Policy wants it). The rule runs this same file as a script (cmake -P).

function(base64_of_hex hex out)
    set(letters "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    string(LENGTH "${hex}" length)
    set(text "")
    math(EXPR last "${length} - 1")
    foreach(at RANGE 0 ${last} 6)
        string(SUBSTRING "${hex}00000" ${at} 6 group)
        math(EXPR value "0x${group}")
        foreach(shift 18 12 6 0)
            math(EXPR letter "(${value} >> ${shift}) & 63")
            string(SUBSTRING ${letters} ${letter} 1 letter)
            string(APPEND text ${letter})
        endforeach()
    endforeach()
    math(EXPR padding "(3 - ${length} / 2 % 3) % 3")
    string(REPEAT "=" ${padding} equals)
    string(LENGTH "${text}" length)
    math(EXPR length "${length} - ${padding}")
    string(SUBSTRING "${text}" 0 ${length} text)
    set(${out} "${text}${equals}" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
    file(READ ${INPUT} bytes HEX)
    file(SHA256 ${INPUT} digest)
    base64_of_hex(${digest} digest)
    string(REGEX REPLACE "(................................)" "\\1\n    " bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1', " bytes "${bytes}")
    file(WRITE ${OUTPUT} "extern const char ${SYMBOL}[];\nextern const char ${SYMBOL}_sha256[];\n"
                         "const char ${SYMBOL}[] = {\n    ${bytes}'\\0'};\n"
                         "const char ${SYMBOL}_sha256[] = \"${digest}\";\n")
    return()
endif()

set(RER_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
function(rer_embed out symbol input)
    set(output ${PROJECT_BINARY_DIR}/embedded/${symbol}.c)
    add_custom_command(OUTPUT ${output}
                       COMMAND ${CMAKE_COMMAND} -DINPUT=${PROJECT_SOURCE_DIR}/${input} -DOUTPUT=${output}
                               -DSYMBOL=${symbol} -P ${RER_EMBED_SCRIPT}
                       DEPENDS ${input} ${RER_EMBED_SCRIPT} VERBATIM)
    set(${out} ${${out}} ${output} PARENT_SCOPE)
endfunction()
