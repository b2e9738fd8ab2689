# The dynamic symbols that BINARY defines are those of the version script MAP, no more and no
# fewer. Run with -DNM=... -DBINARY=... -DMAP=... -P.
cmake_minimum_required(VERSION 3.25)
file(READ ${MAP} text)
string(REGEX REPLACE "#[^\n]*" "" text "${text}")
string(REPLACE ";" "!" text "${text}")
string(REGEX MATCHALL "[A-Za-z_]+!" listed "${text}")
string(REPLACE "!" "" listed "${listed}")
execute_process(COMMAND ${NM} -D --defined-only -P ${BINARY} OUTPUT_VARIABLE table
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${table}")
set(found)
foreach(line ${lines})
  if(line MATCHES "@")  # an object of a library, which has its version, kept in the program
    continue()
  endif()
  string(REGEX REPLACE "[@ ].*" "" name "${line}")
  list(APPEND found ${name})
endforeach()
list(SORT found)
list(SORT listed)
if(NOT "${found}" STREQUAL "${listed}")
  message(FATAL_ERROR "${BINARY} exports\n  ${found}\nbut ${MAP} lists\n  ${listed}")
endif()
