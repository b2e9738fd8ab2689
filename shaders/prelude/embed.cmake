# Writes OUTPUT, a C++ file with the text of DIRECTORY/<name>.glsl for each name of FILES.
set(text "// Generated from the prelude's .glsl files.\n#include \"shaders/prelude/prelude_text.h\"\n\n")
string(APPEND text "namespace tuff {\n\nconst PreludeFile kPreludeFiles[] = {\n")
foreach(file ${FILES})
  file(READ ${DIRECTORY}/${file}.glsl content)
  string(APPEND text "{\"${file}\", R\"GLSL(${content})GLSL\"},\n")
endforeach()
string(APPEND text "{nullptr, nullptr}};\n\n}  // namespace tuff\n")
file(WRITE ${OUTPUT} "${text}")
