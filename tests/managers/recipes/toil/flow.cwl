cwlVersion: v1.2
class: Workflow
inputs: {made: string, used: string}
outputs: {}
steps:
  make: {run: make.cwl, in: {made: made}, out: [done]}
  use: {run: use.cwl, in: {after: make/done, made: made, used: used}, out: []}
