// hipRTC for candle's kernels on the CPU device: its hipcc compiles them, with the headers of C and
// C++ that it has. AMD's hipRTC has none, so a program brings empty ones, which are left out here.
// HIPCC names the compiler, STAND_IN_LOG a file for the name of each program that is compiled.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, COMPILATION = 6 };

struct program {
  char folder[32];
  char *name, *code;
  size_t size;
};

static void save(const struct program *program, const char *name, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", program->folder, name);
  FILE *file = fopen(path, "w");
  fputs(text, file);
  fclose(file);
}

int hiprtcVersion(int *major, int *minor) {
  *major = 9, *minor = 0;
  return SUCCESS;
}

int hiprtcCreateProgram(struct program **made, const char *source, const char *name, int count,
                        const char **headers, const char **names) {
  struct program *program = calloc(1, sizeof *program);
  strcpy(program->folder, "/tmp/hiprtc-XXXXXX");
  if (mkdtemp(program->folder) == NULL) return COMPILATION;
  program->name = strdup(name);
  for (int i = 0; i < count; i++) {
    if (strcmp(headers[i], "#pragma once\n") != 0) save(program, names[i], headers[i]);
  }
  save(program, "source.hip", source);
  *made = program;
  return SUCCESS;
}

int hiprtcCompileProgram(struct program *program, int count, const char **options) {
  FILE *log = fopen(getenv("STAND_IN_LOG"), "a");
  fprintf(log, "%s\n", program->name);
  fclose(log);
  char command[4096];
  int n = snprintf(command, sizeof command,
                   "cd %s && %s -c --offload-device-only --no-gpu-bundle-output -I.",
                   program->folder, getenv("HIPCC"));
  for (int i = 0; i < count; i++) {
    n += snprintf(command + n, sizeof command - n, " '%s'", options[i]);
  }
  snprintf(command + n, sizeof command - n, " source.hip -o code > log 2>&1");
  if (system(command) != 0) return COMPILATION;
  char path[64];
  snprintf(path, sizeof path, "%s/code", program->folder);
  FILE *file = fopen(path, "rb");
  fseek(file, 0, SEEK_END);
  program->size = (size_t)ftell(file);
  rewind(file);
  program->code = malloc(program->size);
  const size_t read = fread(program->code, 1, program->size, file);
  fclose(file);
  return read == program->size ? SUCCESS : COMPILATION;
}

int hiprtcDestroyProgram(struct program **program) {
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", (*program)->folder);
  const int status = system(command);
  free((*program)->code);
  free((*program)->name);
  free(*program);
  *program = NULL;
  return status == 0 ? SUCCESS : COMPILATION;
}

int hiprtcGetCodeSize(struct program *program, size_t *size) {
  *size = program->size;
  return SUCCESS;
}

int hiprtcGetCode(struct program *program, char *code) {
  memcpy(code, program->code, program->size);
  return SUCCESS;
}

int hiprtcGetProgramLogSize(struct program *program, size_t *size) {
  (void)program;
  *size = sizeof "see its folder";
  return SUCCESS;
}

int hiprtcGetProgramLog(struct program *program, char *log) {
  (void)program;
  strcpy(log, "see its folder");
  return SUCCESS;
}
