# encoding: utf-8
from antlr4 import *
from io import StringIO
import sys
if sys.version_info[1] > 5:
	from typing import TextIO
else:
	from typing.io import TextIO

def serializedATN():
    return [
        4,1,68,457,2,0,7,0,2,1,7,1,2,2,7,2,2,3,7,3,2,4,7,4,2,5,7,5,2,6,7,
        6,2,7,7,7,2,8,7,8,2,9,7,9,2,10,7,10,2,11,7,11,2,12,7,12,2,13,7,13,
        2,14,7,14,2,15,7,15,2,16,7,16,2,17,7,17,2,18,7,18,2,19,7,19,2,20,
        7,20,2,21,7,21,2,22,7,22,2,23,7,23,2,24,7,24,2,25,7,25,2,26,7,26,
        2,27,7,27,2,28,7,28,2,29,7,29,1,0,5,0,62,8,0,10,0,12,0,65,9,0,1,
        0,5,0,68,8,0,10,0,12,0,71,9,0,1,0,1,0,1,1,1,1,4,1,77,8,1,11,1,12,
        1,78,1,1,3,1,82,8,1,1,2,1,2,1,2,1,2,1,2,1,2,1,2,3,2,91,8,2,3,2,93,
        8,2,1,3,1,3,1,3,1,3,5,3,99,8,3,10,3,12,3,102,9,3,1,3,1,3,1,3,1,3,
        5,3,108,8,3,10,3,12,3,111,9,3,1,3,1,3,1,3,1,3,5,3,117,8,3,10,3,12,
        3,120,9,3,1,3,1,3,5,3,124,8,3,10,3,12,3,127,9,3,1,3,1,3,5,3,131,
        8,3,10,3,12,3,134,9,3,1,3,1,3,5,3,138,8,3,10,3,12,3,141,9,3,5,3,
        143,8,3,10,3,12,3,146,9,3,1,3,1,3,1,3,3,3,151,8,3,1,3,1,3,1,3,1,
        3,1,3,1,3,5,3,159,8,3,10,3,12,3,162,9,3,1,3,1,3,5,3,166,8,3,10,3,
        12,3,169,9,3,1,3,1,3,5,3,173,8,3,10,3,12,3,176,9,3,1,3,1,3,5,3,180,
        8,3,10,3,12,3,183,9,3,5,3,185,8,3,10,3,12,3,188,9,3,1,3,1,3,5,3,
        192,8,3,10,3,12,3,195,9,3,3,3,197,8,3,1,4,1,4,1,4,1,4,1,4,1,4,1,
        4,1,4,1,4,1,4,1,4,1,4,1,4,3,4,212,8,4,1,4,3,4,215,8,4,3,4,217,8,
        4,1,5,1,5,1,6,1,6,1,7,1,7,1,8,1,8,1,9,1,9,1,10,1,10,1,10,3,10,232,
        8,10,1,11,1,11,4,11,236,8,11,11,11,12,11,237,3,11,240,8,11,1,12,
        1,12,1,13,1,13,1,13,3,13,247,8,13,1,13,1,13,1,13,1,13,1,13,1,13,
        1,13,3,13,256,8,13,3,13,258,8,13,1,13,1,13,1,13,3,13,263,8,13,3,
        13,265,8,13,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,3,14,276,
        8,14,1,14,1,14,1,14,1,14,3,14,282,8,14,1,14,1,14,1,14,1,14,3,14,
        288,8,14,1,14,1,14,1,14,1,14,3,14,294,8,14,1,14,1,14,1,14,1,14,1,
        14,1,14,1,14,1,14,3,14,304,8,14,1,14,1,14,1,14,1,14,1,14,5,14,311,
        8,14,10,14,12,14,314,9,14,3,14,316,8,14,1,14,1,14,1,14,1,14,1,14,
        1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,3,14,331,8,14,1,14,1,14,
        1,14,1,14,3,14,337,8,14,1,14,1,14,1,14,1,14,3,14,343,8,14,1,14,3,
        14,346,8,14,1,14,1,14,3,14,350,8,14,3,14,352,8,14,1,15,1,15,1,15,
        1,16,1,16,5,16,359,8,16,10,16,12,16,362,9,16,1,16,1,16,5,16,366,
        8,16,10,16,12,16,369,9,16,1,16,1,16,5,16,373,8,16,10,16,12,16,376,
        9,16,1,16,1,16,5,16,380,8,16,10,16,12,16,383,9,16,5,16,385,8,16,
        10,16,12,16,388,9,16,1,16,1,16,1,17,3,17,393,8,17,1,17,1,17,1,18,
        1,18,1,18,1,18,1,18,3,18,402,8,18,1,19,1,19,1,19,3,19,407,8,19,1,
        20,1,20,1,20,1,21,1,21,1,21,1,21,3,21,416,8,21,1,22,1,22,1,22,1,
        22,5,22,422,8,22,10,22,12,22,425,9,22,1,23,1,23,1,23,3,23,430,8,
        23,1,24,1,24,1,24,1,25,1,25,1,26,3,26,438,8,26,1,26,1,26,1,27,3,
        27,443,8,27,1,27,1,27,1,28,3,28,448,8,28,1,28,1,28,1,29,3,29,453,
        8,29,1,29,1,29,1,29,0,0,30,0,2,4,6,8,10,12,14,16,18,20,22,24,26,
        28,30,32,34,36,38,40,42,44,46,48,50,52,54,56,58,0,6,3,0,54,58,63,
        64,68,68,1,0,1,52,1,0,24,25,1,0,26,28,1,0,13,14,1,0,52,53,507,0,
        63,1,0,0,0,2,74,1,0,0,0,4,92,1,0,0,0,6,196,1,0,0,0,8,216,1,0,0,0,
        10,218,1,0,0,0,12,220,1,0,0,0,14,222,1,0,0,0,16,224,1,0,0,0,18,226,
        1,0,0,0,20,228,1,0,0,0,22,239,1,0,0,0,24,241,1,0,0,0,26,264,1,0,
        0,0,28,351,1,0,0,0,30,353,1,0,0,0,32,356,1,0,0,0,34,392,1,0,0,0,
        36,401,1,0,0,0,38,403,1,0,0,0,40,408,1,0,0,0,42,411,1,0,0,0,44,417,
        1,0,0,0,46,426,1,0,0,0,48,431,1,0,0,0,50,434,1,0,0,0,52,437,1,0,
        0,0,54,442,1,0,0,0,56,447,1,0,0,0,58,452,1,0,0,0,60,62,5,64,0,0,
        61,60,1,0,0,0,62,65,1,0,0,0,63,61,1,0,0,0,63,64,1,0,0,0,64,69,1,
        0,0,0,65,63,1,0,0,0,66,68,3,2,1,0,67,66,1,0,0,0,68,71,1,0,0,0,69,
        67,1,0,0,0,69,70,1,0,0,0,70,72,1,0,0,0,71,69,1,0,0,0,72,73,5,0,0,
        1,73,1,1,0,0,0,74,81,3,4,2,0,75,77,5,64,0,0,76,75,1,0,0,0,77,78,
        1,0,0,0,78,76,1,0,0,0,78,79,1,0,0,0,79,82,1,0,0,0,80,82,5,0,0,1,
        81,76,1,0,0,0,81,80,1,0,0,0,82,3,1,0,0,0,83,84,5,2,0,0,84,93,3,6,
        3,0,85,86,5,6,0,0,86,93,3,8,4,0,87,88,5,1,0,0,88,90,5,54,0,0,89,
        91,3,36,18,0,90,89,1,0,0,0,90,91,1,0,0,0,91,93,1,0,0,0,92,83,1,0,
        0,0,92,85,1,0,0,0,92,87,1,0,0,0,93,5,1,0,0,0,94,95,5,3,0,0,95,100,
        3,10,5,0,96,97,5,56,0,0,97,99,3,10,5,0,98,96,1,0,0,0,99,102,1,0,
        0,0,100,98,1,0,0,0,100,101,1,0,0,0,101,197,1,0,0,0,102,100,1,0,0,
        0,103,104,5,4,0,0,104,109,3,12,6,0,105,106,5,56,0,0,106,108,3,12,
        6,0,107,105,1,0,0,0,108,111,1,0,0,0,109,107,1,0,0,0,109,110,1,0,
        0,0,110,197,1,0,0,0,111,109,1,0,0,0,112,113,5,5,0,0,113,114,3,14,
        7,0,114,118,5,57,0,0,115,117,5,64,0,0,116,115,1,0,0,0,117,120,1,
        0,0,0,118,116,1,0,0,0,118,119,1,0,0,0,119,121,1,0,0,0,120,118,1,
        0,0,0,121,125,3,20,10,0,122,124,5,64,0,0,123,122,1,0,0,0,124,127,
        1,0,0,0,125,123,1,0,0,0,125,126,1,0,0,0,126,144,1,0,0,0,127,125,
        1,0,0,0,128,132,5,56,0,0,129,131,5,64,0,0,130,129,1,0,0,0,131,134,
        1,0,0,0,132,130,1,0,0,0,132,133,1,0,0,0,133,135,1,0,0,0,134,132,
        1,0,0,0,135,139,3,20,10,0,136,138,5,64,0,0,137,136,1,0,0,0,138,141,
        1,0,0,0,139,137,1,0,0,0,139,140,1,0,0,0,140,143,1,0,0,0,141,139,
        1,0,0,0,142,128,1,0,0,0,143,146,1,0,0,0,144,142,1,0,0,0,144,145,
        1,0,0,0,145,147,1,0,0,0,146,144,1,0,0,0,147,150,5,58,0,0,148,149,
        5,12,0,0,149,151,5,54,0,0,150,148,1,0,0,0,150,151,1,0,0,0,151,197,
        1,0,0,0,152,153,5,6,0,0,153,154,3,18,9,0,154,155,3,12,6,0,155,156,
        5,10,0,0,156,160,5,57,0,0,157,159,5,64,0,0,158,157,1,0,0,0,159,162,
        1,0,0,0,160,158,1,0,0,0,160,161,1,0,0,0,161,163,1,0,0,0,162,160,
        1,0,0,0,163,167,3,22,11,0,164,166,5,64,0,0,165,164,1,0,0,0,166,169,
        1,0,0,0,167,165,1,0,0,0,167,168,1,0,0,0,168,186,1,0,0,0,169,167,
        1,0,0,0,170,174,5,56,0,0,171,173,5,64,0,0,172,171,1,0,0,0,173,176,
        1,0,0,0,174,172,1,0,0,0,174,175,1,0,0,0,175,177,1,0,0,0,176,174,
        1,0,0,0,177,181,3,22,11,0,178,180,5,64,0,0,179,178,1,0,0,0,180,183,
        1,0,0,0,181,179,1,0,0,0,181,182,1,0,0,0,182,185,1,0,0,0,183,181,
        1,0,0,0,184,170,1,0,0,0,185,188,1,0,0,0,186,184,1,0,0,0,186,187,
        1,0,0,0,187,189,1,0,0,0,188,186,1,0,0,0,189,193,5,58,0,0,190,192,
        3,26,13,0,191,190,1,0,0,0,192,195,1,0,0,0,193,191,1,0,0,0,193,194,
        1,0,0,0,194,197,1,0,0,0,195,193,1,0,0,0,196,94,1,0,0,0,196,103,1,
        0,0,0,196,112,1,0,0,0,196,152,1,0,0,0,197,7,1,0,0,0,198,199,5,7,
        0,0,199,200,3,18,9,0,200,201,3,28,14,0,201,217,1,0,0,0,202,203,5,
        8,0,0,203,204,5,9,0,0,204,205,3,18,9,0,205,206,3,10,5,0,206,207,
        3,14,7,0,207,208,5,59,0,0,208,211,3,16,8,0,209,210,5,46,0,0,210,
        212,5,47,0,0,211,209,1,0,0,0,211,212,1,0,0,0,212,214,1,0,0,0,213,
        215,5,55,0,0,214,213,1,0,0,0,214,215,1,0,0,0,215,217,1,0,0,0,216,
        198,1,0,0,0,216,202,1,0,0,0,217,9,1,0,0,0,218,219,3,24,12,0,219,
        11,1,0,0,0,220,221,3,24,12,0,221,13,1,0,0,0,222,223,3,24,12,0,223,
        15,1,0,0,0,224,225,3,24,12,0,225,17,1,0,0,0,226,227,3,24,12,0,227,
        19,1,0,0,0,228,231,3,16,8,0,229,230,5,12,0,0,230,232,5,54,0,0,231,
        229,1,0,0,0,231,232,1,0,0,0,232,21,1,0,0,0,233,240,5,54,0,0,234,
        236,8,0,0,0,235,234,1,0,0,0,236,237,1,0,0,0,237,235,1,0,0,0,237,
        238,1,0,0,0,238,240,1,0,0,0,239,233,1,0,0,0,239,235,1,0,0,0,240,
        23,1,0,0,0,241,242,7,1,0,0,242,25,1,0,0,0,243,244,5,35,0,0,244,246,
        3,52,26,0,245,247,3,40,20,0,246,245,1,0,0,0,246,247,1,0,0,0,247,
        265,1,0,0,0,248,249,5,36,0,0,249,265,3,54,27,0,250,257,5,37,0,0,
        251,258,5,38,0,0,252,258,5,39,0,0,253,255,5,40,0,0,254,256,3,18,
        9,0,255,254,1,0,0,0,255,256,1,0,0,0,256,258,1,0,0,0,257,251,1,0,
        0,0,257,252,1,0,0,0,257,253,1,0,0,0,258,265,1,0,0,0,259,260,5,41,
        0,0,260,262,5,54,0,0,261,263,3,48,24,0,262,261,1,0,0,0,262,263,1,
        0,0,0,263,265,1,0,0,0,264,243,1,0,0,0,264,248,1,0,0,0,264,250,1,
        0,0,0,264,259,1,0,0,0,265,27,1,0,0,0,266,267,5,17,0,0,267,268,3,
        30,15,0,268,269,3,36,18,0,269,270,3,42,21,0,270,352,1,0,0,0,271,
        272,3,30,15,0,272,275,3,36,18,0,273,276,3,38,19,0,274,276,3,42,21,
        0,275,273,1,0,0,0,275,274,1,0,0,0,275,276,1,0,0,0,276,352,1,0,0,
        0,277,278,5,15,0,0,278,279,3,32,16,0,279,281,3,36,18,0,280,282,3,
        40,20,0,281,280,1,0,0,0,281,282,1,0,0,0,282,352,1,0,0,0,283,284,
        5,16,0,0,284,285,3,32,16,0,285,287,3,36,18,0,286,288,3,38,19,0,287,
        286,1,0,0,0,287,288,1,0,0,0,288,352,1,0,0,0,289,290,5,18,0,0,290,
        352,3,42,21,0,291,293,5,19,0,0,292,294,5,14,0,0,293,292,1,0,0,0,
        293,294,1,0,0,0,294,295,1,0,0,0,295,296,5,54,0,0,296,297,3,36,18,
        0,297,298,3,42,21,0,298,352,1,0,0,0,299,315,5,20,0,0,300,303,5,16,
        0,0,301,302,5,21,0,0,302,304,3,44,22,0,303,301,1,0,0,0,303,304,1,
        0,0,0,304,316,1,0,0,0,305,316,3,44,22,0,306,307,5,23,0,0,307,312,
        3,50,25,0,308,309,5,56,0,0,309,311,3,50,25,0,310,308,1,0,0,0,311,
        314,1,0,0,0,312,310,1,0,0,0,312,313,1,0,0,0,313,316,1,0,0,0,314,
        312,1,0,0,0,315,300,1,0,0,0,315,305,1,0,0,0,315,306,1,0,0,0,316,
        352,1,0,0,0,317,318,5,11,0,0,318,352,7,2,0,0,319,320,7,3,0,0,320,
        321,5,54,0,0,321,322,5,29,0,0,322,323,3,56,28,0,323,324,5,63,0,0,
        324,352,1,0,0,0,325,326,5,6,0,0,326,327,3,18,9,0,327,328,3,52,26,
        0,328,330,5,31,0,0,329,331,3,40,20,0,330,329,1,0,0,0,330,331,1,0,
        0,0,331,352,1,0,0,0,332,333,5,10,0,0,333,334,5,6,0,0,334,336,5,54,
        0,0,335,337,3,48,24,0,336,335,1,0,0,0,336,337,1,0,0,0,337,352,1,
        0,0,0,338,352,5,43,0,0,339,342,5,44,0,0,340,341,5,11,0,0,341,343,
        5,54,0,0,342,340,1,0,0,0,342,343,1,0,0,0,343,345,1,0,0,0,344,346,
        3,40,20,0,345,344,1,0,0,0,345,346,1,0,0,0,346,349,1,0,0,0,347,348,
        5,45,0,0,348,350,3,58,29,0,349,347,1,0,0,0,349,350,1,0,0,0,350,352,
        1,0,0,0,351,266,1,0,0,0,351,271,1,0,0,0,351,277,1,0,0,0,351,283,
        1,0,0,0,351,289,1,0,0,0,351,291,1,0,0,0,351,299,1,0,0,0,351,317,
        1,0,0,0,351,319,1,0,0,0,351,325,1,0,0,0,351,332,1,0,0,0,351,338,
        1,0,0,0,351,339,1,0,0,0,352,29,1,0,0,0,353,354,7,4,0,0,354,355,5,
        54,0,0,355,31,1,0,0,0,356,360,5,57,0,0,357,359,5,64,0,0,358,357,
        1,0,0,0,359,362,1,0,0,0,360,358,1,0,0,0,360,361,1,0,0,0,361,363,
        1,0,0,0,362,360,1,0,0,0,363,367,3,34,17,0,364,366,5,64,0,0,365,364,
        1,0,0,0,366,369,1,0,0,0,367,365,1,0,0,0,367,368,1,0,0,0,368,386,
        1,0,0,0,369,367,1,0,0,0,370,374,5,56,0,0,371,373,5,64,0,0,372,371,
        1,0,0,0,373,376,1,0,0,0,374,372,1,0,0,0,374,375,1,0,0,0,375,377,
        1,0,0,0,376,374,1,0,0,0,377,381,3,34,17,0,378,380,5,64,0,0,379,378,
        1,0,0,0,380,383,1,0,0,0,381,379,1,0,0,0,381,382,1,0,0,0,382,385,
        1,0,0,0,383,381,1,0,0,0,384,370,1,0,0,0,385,388,1,0,0,0,386,384,
        1,0,0,0,386,387,1,0,0,0,387,389,1,0,0,0,388,386,1,0,0,0,389,390,
        5,58,0,0,390,33,1,0,0,0,391,393,7,4,0,0,392,391,1,0,0,0,392,393,
        1,0,0,0,393,394,1,0,0,0,394,395,5,54,0,0,395,35,1,0,0,0,396,402,
        5,48,0,0,397,402,5,49,0,0,398,402,5,50,0,0,399,400,5,51,0,0,400,
        402,5,54,0,0,401,396,1,0,0,0,401,397,1,0,0,0,401,398,1,0,0,0,401,
        399,1,0,0,0,402,37,1,0,0,0,403,404,5,30,0,0,404,406,3,52,26,0,405,
        407,3,40,20,0,406,405,1,0,0,0,406,407,1,0,0,0,407,39,1,0,0,0,408,
        409,5,32,0,0,409,410,3,54,27,0,410,41,1,0,0,0,411,412,5,33,0,0,412,
        415,3,54,27,0,413,414,5,34,0,0,414,416,3,54,27,0,415,413,1,0,0,0,
        415,416,1,0,0,0,416,43,1,0,0,0,417,418,5,22,0,0,418,423,3,46,23,
        0,419,420,5,56,0,0,420,422,3,46,23,0,421,419,1,0,0,0,422,425,1,0,
        0,0,423,421,1,0,0,0,423,424,1,0,0,0,424,45,1,0,0,0,425,423,1,0,0,
        0,426,429,5,53,0,0,427,428,5,60,0,0,428,430,5,53,0,0,429,427,1,0,
        0,0,429,430,1,0,0,0,430,47,1,0,0,0,431,432,5,42,0,0,432,433,3,52,
        26,0,433,49,1,0,0,0,434,435,7,5,0,0,435,51,1,0,0,0,436,438,5,60,
        0,0,437,436,1,0,0,0,437,438,1,0,0,0,438,439,1,0,0,0,439,440,5,53,
        0,0,440,53,1,0,0,0,441,443,5,60,0,0,442,441,1,0,0,0,442,443,1,0,
        0,0,443,444,1,0,0,0,444,445,5,53,0,0,445,55,1,0,0,0,446,448,5,60,
        0,0,447,446,1,0,0,0,447,448,1,0,0,0,448,449,1,0,0,0,449,450,5,53,
        0,0,450,57,1,0,0,0,451,453,5,60,0,0,452,451,1,0,0,0,452,453,1,0,
        0,0,453,454,1,0,0,0,454,455,5,53,0,0,455,59,1,0,0,0,60,63,69,78,
        81,90,92,100,109,118,125,132,139,144,150,160,167,174,181,186,193,
        196,211,214,216,231,237,239,246,255,257,262,264,275,281,287,293,
        303,312,315,330,336,342,345,349,351,360,367,374,381,386,392,401,
        406,415,423,429,437,442,447,452
    ]

class ESLParser ( Parser ):

    grammarFileName = "ESL.g4"

    atn = ATNDeserializer().deserialize(serializedATN())

    decisionsToDFA = [ DFA(ds, i) for i, ds in enumerate(atn.decisionToState) ]

    sharedContextCache = PredictionContextCache()

    literalNames = [ "<INVALID>", "'INCLUDE'", "'DECLARE'", "'ENTITY'", 
                     "'EXCEPTION_TYPE'", "'RESOURCE'", "'EXCEPTION'", "'DETECTION'", 
                     "'RECOVERY'", "'STEP'", "'JOB'", "'NODE'", "'HANDLER'", 
                     "'LOG'", "'MATCH'", "'MULTIPLE'", "'ANY'", "'HANG'", 
                     "'SILENCE'", "'PROGRESS'", "'EXIT'", "'EXCEPT'", "'CODE'", 
                     "'SIGNAL'", "'DOWN'", "'DRAINED'", "'DISK'", "'INODES'", 
                     "'QUOTA'", "'ABOVE'", "'RECURRING'", "'TIMES'", "'WITHIN'", 
                     "'TIMEOUT'", "'WARMUP'", "'LIMIT'", "'BACKOFF'", "'ELSE'", 
                     "'FAIL'", "'PAUSE'", "'ESCALATE'", "'RAISE'", "'SEVERITY'", 
                     "'EXTERNAL'", "'PREDICTED'", "'CONFIDENCE'", "'BEFORE'", 
                     "'FAILURE'", "'stdout'", "'stderr'", "'output'", "'file'", 
                     "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                     "','", "'['", "']'", "'.'", "'-'", "'*'", "'?'", "'%'" ]

    symbolicNames = [ "<INVALID>", "INCLUDE", "DECLARE", "ENTITY", "EXCEPTION_TYPE", 
                      "RESOURCE", "EXCEPTION", "DETECTION", "RECOVERY", 
                      "STEP", "JOB", "NODE", "HANDLER", "LOG", "MATCH", 
                      "MULTIPLE", "ANY", "HANG", "SILENCE", "PROGRESS", 
                      "EXIT", "EXCEPT", "CODE", "SIGNAL", "DOWN", "DRAINED", 
                      "DISK", "INODES", "QUOTA", "ABOVE", "RECURRING", "TIMES", 
                      "WITHIN", "TIMEOUT", "WARMUP", "LIMIT", "BACKOFF", 
                      "ELSE", "FAIL", "PAUSE", "ESCALATE", "RAISE", "SEVERITY", 
                      "EXTERNAL", "PREDICTED", "CONFIDENCE", "BEFORE", "FAILURE", 
                      "STDOUT", "STDERR", "OUTPUT", "FILE", "IDENTIFIER", 
                      "NUMBER", "STRING", "JSON_OBJECT", "COMMA", "OPEN", 
                      "CLOSE", "DOT", "DASH", "STAR", "QUESTION", "PERCENT", 
                      "NEWLINE", "CONTINUATION", "BLANK", "COMMENT", "INVALID" ]

    RULE_specification = 0
    RULE_line = 1
    RULE_statement = 2
    RULE_declaration = 3
    RULE_handling = 4
    RULE_entity = 5
    RULE_level = 6
    RULE_resource = 7
    RULE_operation = 8
    RULE_exceptionName = 9
    RULE_offer = 10
    RULE_job = 11
    RULE_word = 12
    RULE_clause = 13
    RULE_detection = 14
    RULE_pattern = 15
    RULE_patterns = 16
    RULE_listed = 17
    RULE_source = 18
    RULE_recurring = 19
    RULE_within = 20
    RULE_timer = 21
    RULE_codes = 22
    RULE_code = 23
    RULE_severity = 24
    RULE_signal = 25
    RULE_count = 26
    RULE_seconds = 27
    RULE_percent = 28
    RULE_confidence = 29

    ruleNames =  [ "specification", "line", "statement", "declaration", 
                   "handling", "entity", "level", "resource", "operation", 
                   "exceptionName", "offer", "job", "word", "clause", "detection", 
                   "pattern", "patterns", "listed", "source", "recurring", 
                   "within", "timer", "codes", "code", "severity", "signal", 
                   "count", "seconds", "percent", "confidence" ]

    EOF = Token.EOF
    INCLUDE=1
    DECLARE=2
    ENTITY=3
    EXCEPTION_TYPE=4
    RESOURCE=5
    EXCEPTION=6
    DETECTION=7
    RECOVERY=8
    STEP=9
    JOB=10
    NODE=11
    HANDLER=12
    LOG=13
    MATCH=14
    MULTIPLE=15
    ANY=16
    HANG=17
    SILENCE=18
    PROGRESS=19
    EXIT=20
    EXCEPT=21
    CODE=22
    SIGNAL=23
    DOWN=24
    DRAINED=25
    DISK=26
    INODES=27
    QUOTA=28
    ABOVE=29
    RECURRING=30
    TIMES=31
    WITHIN=32
    TIMEOUT=33
    WARMUP=34
    LIMIT=35
    BACKOFF=36
    ELSE=37
    FAIL=38
    PAUSE=39
    ESCALATE=40
    RAISE=41
    SEVERITY=42
    EXTERNAL=43
    PREDICTED=44
    CONFIDENCE=45
    BEFORE=46
    FAILURE=47
    STDOUT=48
    STDERR=49
    OUTPUT=50
    FILE=51
    IDENTIFIER=52
    NUMBER=53
    STRING=54
    JSON_OBJECT=55
    COMMA=56
    OPEN=57
    CLOSE=58
    DOT=59
    DASH=60
    STAR=61
    QUESTION=62
    PERCENT=63
    NEWLINE=64
    CONTINUATION=65
    BLANK=66
    COMMENT=67
    INVALID=68

    def __init__(self, input:TokenStream, output:TextIO = sys.stdout):
        super().__init__(input, output)
        self.checkVersion("4.13.1")
        self._interp = ParserATNSimulator(self, self.atn, self.decisionsToDFA, self.sharedContextCache)
        self._predicates = None




    class SpecificationContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def EOF(self):
            return self.getToken(ESLParser.EOF, 0)

        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)

        def line(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.LineContext)
            else:
                return self.getTypedRuleContext(ESLParser.LineContext,i)


        def getRuleIndex(self):
            return ESLParser.RULE_specification

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSpecification" ):
                return visitor.visitSpecification(self)
            else:
                return visitor.visitChildren(self)




    def specification(self):

        localctx = ESLParser.SpecificationContext(self, self._ctx, self.state)
        self.enterRule(localctx, 0, self.RULE_specification)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 63
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==64:
                self.state = 60
                self.match(ESLParser.NEWLINE)
                self.state = 65
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 69
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 70) != 0):
                self.state = 66
                self.line()
                self.state = 71
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 72
            self.match(ESLParser.EOF)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class LineContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def statement(self):
            return self.getTypedRuleContext(ESLParser.StatementContext,0)


        def EOF(self):
            return self.getToken(ESLParser.EOF, 0)

        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)

        def getRuleIndex(self):
            return ESLParser.RULE_line

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitLine" ):
                return visitor.visitLine(self)
            else:
                return visitor.visitChildren(self)




    def line(self):

        localctx = ESLParser.LineContext(self, self._ctx, self.state)
        self.enterRule(localctx, 2, self.RULE_line)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 74
            self.statement()
            self.state = 81
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [64]:
                self.state = 76 
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while True:
                    self.state = 75
                    self.match(ESLParser.NEWLINE)
                    self.state = 78 
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if not (_la==64):
                        break

                pass
            elif token in [-1]:
                self.state = 80
                self.match(ESLParser.EOF)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class StatementContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def DECLARE(self):
            return self.getToken(ESLParser.DECLARE, 0)

        def declaration(self):
            return self.getTypedRuleContext(ESLParser.DeclarationContext,0)


        def EXCEPTION(self):
            return self.getToken(ESLParser.EXCEPTION, 0)

        def handling(self):
            return self.getTypedRuleContext(ESLParser.HandlingContext,0)


        def INCLUDE(self):
            return self.getToken(ESLParser.INCLUDE, 0)

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_statement

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitStatement" ):
                return visitor.visitStatement(self)
            else:
                return visitor.visitChildren(self)




    def statement(self):

        localctx = ESLParser.StatementContext(self, self._ctx, self.state)
        self.enterRule(localctx, 4, self.RULE_statement)
        self._la = 0 # Token type
        try:
            self.state = 92
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [2]:
                self.enterOuterAlt(localctx, 1)
                self.state = 83
                self.match(ESLParser.DECLARE)
                self.state = 84
                self.declaration()
                pass
            elif token in [6]:
                self.enterOuterAlt(localctx, 2)
                self.state = 85
                self.match(ESLParser.EXCEPTION)
                self.state = 86
                self.handling()
                pass
            elif token in [1]:
                self.enterOuterAlt(localctx, 3)
                self.state = 87
                self.match(ESLParser.INCLUDE)
                self.state = 88
                self.match(ESLParser.STRING)
                self.state = 90
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if (((_la) & ~0x3f) == 0 and ((1 << _la) & 4222124650659840) != 0):
                    self.state = 89
                    self.source()


                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DeclarationContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return ESLParser.RULE_declaration

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class OffersContext(DeclarationContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DeclarationContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def RESOURCE(self):
            return self.getToken(ESLParser.RESOURCE, 0)
        def resource(self):
            return self.getTypedRuleContext(ESLParser.ResourceContext,0)

        def OPEN(self):
            return self.getToken(ESLParser.OPEN, 0)
        def offer(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.OfferContext)
            else:
                return self.getTypedRuleContext(ESLParser.OfferContext,i)

        def CLOSE(self):
            return self.getToken(ESLParser.CLOSE, 0)
        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)
        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)
        def HANDLER(self):
            return self.getToken(ESLParser.HANDLER, 0)
        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitOffers" ):
                return visitor.visitOffers(self)
            else:
                return visitor.visitChildren(self)


    class DeclaredContext(DeclarationContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DeclarationContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def EXCEPTION(self):
            return self.getToken(ESLParser.EXCEPTION, 0)
        def exceptionName(self):
            return self.getTypedRuleContext(ESLParser.ExceptionNameContext,0)

        def level(self):
            return self.getTypedRuleContext(ESLParser.LevelContext,0)

        def JOB(self):
            return self.getToken(ESLParser.JOB, 0)
        def OPEN(self):
            return self.getToken(ESLParser.OPEN, 0)
        def job(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.JobContext)
            else:
                return self.getTypedRuleContext(ESLParser.JobContext,i)

        def CLOSE(self):
            return self.getToken(ESLParser.CLOSE, 0)
        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)
        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)
        def clause(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.ClauseContext)
            else:
                return self.getTypedRuleContext(ESLParser.ClauseContext,i)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitDeclared" ):
                return visitor.visitDeclared(self)
            else:
                return visitor.visitChildren(self)


    class EntitiesContext(DeclarationContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DeclarationContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def ENTITY(self):
            return self.getToken(ESLParser.ENTITY, 0)
        def entity(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.EntityContext)
            else:
                return self.getTypedRuleContext(ESLParser.EntityContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitEntities" ):
                return visitor.visitEntities(self)
            else:
                return visitor.visitChildren(self)


    class LevelsContext(DeclarationContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DeclarationContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def EXCEPTION_TYPE(self):
            return self.getToken(ESLParser.EXCEPTION_TYPE, 0)
        def level(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.LevelContext)
            else:
                return self.getTypedRuleContext(ESLParser.LevelContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitLevels" ):
                return visitor.visitLevels(self)
            else:
                return visitor.visitChildren(self)



    def declaration(self):

        localctx = ESLParser.DeclarationContext(self, self._ctx, self.state)
        self.enterRule(localctx, 6, self.RULE_declaration)
        self._la = 0 # Token type
        try:
            self.state = 196
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [3]:
                localctx = ESLParser.EntitiesContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 94
                self.match(ESLParser.ENTITY)
                self.state = 95
                self.entity()
                self.state = 100
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==56:
                    self.state = 96
                    self.match(ESLParser.COMMA)
                    self.state = 97
                    self.entity()
                    self.state = 102
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [4]:
                localctx = ESLParser.LevelsContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 103
                self.match(ESLParser.EXCEPTION_TYPE)
                self.state = 104
                self.level()
                self.state = 109
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==56:
                    self.state = 105
                    self.match(ESLParser.COMMA)
                    self.state = 106
                    self.level()
                    self.state = 111
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [5]:
                localctx = ESLParser.OffersContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 112
                self.match(ESLParser.RESOURCE)
                self.state = 113
                self.resource()
                self.state = 114
                self.match(ESLParser.OPEN)
                self.state = 118
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==64:
                    self.state = 115
                    self.match(ESLParser.NEWLINE)
                    self.state = 120
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 121
                self.offer()
                self.state = 125
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==64:
                    self.state = 122
                    self.match(ESLParser.NEWLINE)
                    self.state = 127
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 144
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==56:
                    self.state = 128
                    self.match(ESLParser.COMMA)
                    self.state = 132
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==64:
                        self.state = 129
                        self.match(ESLParser.NEWLINE)
                        self.state = 134
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 135
                    self.offer()
                    self.state = 139
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==64:
                        self.state = 136
                        self.match(ESLParser.NEWLINE)
                        self.state = 141
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 146
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 147
                self.match(ESLParser.CLOSE)
                self.state = 150
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==12:
                    self.state = 148
                    self.match(ESLParser.HANDLER)
                    self.state = 149
                    self.match(ESLParser.STRING)


                pass
            elif token in [6]:
                localctx = ESLParser.DeclaredContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 152
                self.match(ESLParser.EXCEPTION)
                self.state = 153
                self.exceptionName()
                self.state = 154
                self.level()
                self.state = 155
                self.match(ESLParser.JOB)
                self.state = 156
                self.match(ESLParser.OPEN)
                self.state = 160
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==64:
                    self.state = 157
                    self.match(ESLParser.NEWLINE)
                    self.state = 162
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 163
                self.job()
                self.state = 167
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==64:
                    self.state = 164
                    self.match(ESLParser.NEWLINE)
                    self.state = 169
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 186
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==56:
                    self.state = 170
                    self.match(ESLParser.COMMA)
                    self.state = 174
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==64:
                        self.state = 171
                        self.match(ESLParser.NEWLINE)
                        self.state = 176
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 177
                    self.job()
                    self.state = 181
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==64:
                        self.state = 178
                        self.match(ESLParser.NEWLINE)
                        self.state = 183
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 188
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 189
                self.match(ESLParser.CLOSE)
                self.state = 193
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 2439541424128) != 0):
                    self.state = 190
                    self.clause()
                    self.state = 195
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class HandlingContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return ESLParser.RULE_handling

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class RecoveredContext(HandlingContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.HandlingContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def RECOVERY(self):
            return self.getToken(ESLParser.RECOVERY, 0)
        def STEP(self):
            return self.getToken(ESLParser.STEP, 0)
        def exceptionName(self):
            return self.getTypedRuleContext(ESLParser.ExceptionNameContext,0)

        def entity(self):
            return self.getTypedRuleContext(ESLParser.EntityContext,0)

        def resource(self):
            return self.getTypedRuleContext(ESLParser.ResourceContext,0)

        def DOT(self):
            return self.getToken(ESLParser.DOT, 0)
        def operation(self):
            return self.getTypedRuleContext(ESLParser.OperationContext,0)

        def BEFORE(self):
            return self.getToken(ESLParser.BEFORE, 0)
        def FAILURE(self):
            return self.getToken(ESLParser.FAILURE, 0)
        def JSON_OBJECT(self):
            return self.getToken(ESLParser.JSON_OBJECT, 0)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitRecovered" ):
                return visitor.visitRecovered(self)
            else:
                return visitor.visitChildren(self)


    class DetectedContext(HandlingContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.HandlingContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def DETECTION(self):
            return self.getToken(ESLParser.DETECTION, 0)
        def exceptionName(self):
            return self.getTypedRuleContext(ESLParser.ExceptionNameContext,0)

        def detection(self):
            return self.getTypedRuleContext(ESLParser.DetectionContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitDetected" ):
                return visitor.visitDetected(self)
            else:
                return visitor.visitChildren(self)



    def handling(self):

        localctx = ESLParser.HandlingContext(self, self._ctx, self.state)
        self.enterRule(localctx, 8, self.RULE_handling)
        self._la = 0 # Token type
        try:
            self.state = 216
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [7]:
                localctx = ESLParser.DetectedContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 198
                self.match(ESLParser.DETECTION)
                self.state = 199
                self.exceptionName()
                self.state = 200
                self.detection()
                pass
            elif token in [8]:
                localctx = ESLParser.RecoveredContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 202
                self.match(ESLParser.RECOVERY)
                self.state = 203
                self.match(ESLParser.STEP)
                self.state = 204
                self.exceptionName()
                self.state = 205
                self.entity()
                self.state = 206
                self.resource()
                self.state = 207
                self.match(ESLParser.DOT)
                self.state = 208
                self.operation()
                self.state = 211
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==46:
                    self.state = 209
                    self.match(ESLParser.BEFORE)
                    self.state = 210
                    self.match(ESLParser.FAILURE)


                self.state = 214
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==55:
                    self.state = 213
                    self.match(ESLParser.JSON_OBJECT)


                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class EntityContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_entity

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitEntity" ):
                return visitor.visitEntity(self)
            else:
                return visitor.visitChildren(self)




    def entity(self):

        localctx = ESLParser.EntityContext(self, self._ctx, self.state)
        self.enterRule(localctx, 10, self.RULE_entity)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 218
            self.word()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class LevelContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_level

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitLevel" ):
                return visitor.visitLevel(self)
            else:
                return visitor.visitChildren(self)




    def level(self):

        localctx = ESLParser.LevelContext(self, self._ctx, self.state)
        self.enterRule(localctx, 12, self.RULE_level)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 220
            self.word()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ResourceContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_resource

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitResource" ):
                return visitor.visitResource(self)
            else:
                return visitor.visitChildren(self)




    def resource(self):

        localctx = ESLParser.ResourceContext(self, self._ctx, self.state)
        self.enterRule(localctx, 14, self.RULE_resource)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 222
            self.word()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class OperationContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_operation

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitOperation" ):
                return visitor.visitOperation(self)
            else:
                return visitor.visitChildren(self)




    def operation(self):

        localctx = ESLParser.OperationContext(self, self._ctx, self.state)
        self.enterRule(localctx, 16, self.RULE_operation)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 224
            self.word()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ExceptionNameContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_exceptionName

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitExceptionName" ):
                return visitor.visitExceptionName(self)
            else:
                return visitor.visitChildren(self)




    def exceptionName(self):

        localctx = ESLParser.ExceptionNameContext(self, self._ctx, self.state)
        self.enterRule(localctx, 18, self.RULE_exceptionName)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 226
            self.word()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class OfferContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def operation(self):
            return self.getTypedRuleContext(ESLParser.OperationContext,0)


        def HANDLER(self):
            return self.getToken(ESLParser.HANDLER, 0)

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_offer

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitOffer" ):
                return visitor.visitOffer(self)
            else:
                return visitor.visitChildren(self)




    def offer(self):

        localctx = ESLParser.OfferContext(self, self._ctx, self.state)
        self.enterRule(localctx, 20, self.RULE_offer)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 228
            self.operation()
            self.state = 231
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==12:
                self.state = 229
                self.match(ESLParser.HANDLER)
                self.state = 230
                self.match(ESLParser.STRING)


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class JobContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def STRING(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.STRING)
            else:
                return self.getToken(ESLParser.STRING, i)

        def JSON_OBJECT(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.JSON_OBJECT)
            else:
                return self.getToken(ESLParser.JSON_OBJECT, i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def OPEN(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.OPEN)
            else:
                return self.getToken(ESLParser.OPEN, i)

        def CLOSE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.CLOSE)
            else:
                return self.getToken(ESLParser.CLOSE, i)

        def PERCENT(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.PERCENT)
            else:
                return self.getToken(ESLParser.PERCENT, i)

        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)

        def INVALID(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.INVALID)
            else:
                return self.getToken(ESLParser.INVALID, i)

        def getRuleIndex(self):
            return ESLParser.RULE_job

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitJob" ):
                return visitor.visitJob(self)
            else:
                return visitor.visitChildren(self)




    def job(self):

        localctx = ESLParser.JobContext(self, self._ctx, self.state)
        self.enterRule(localctx, 22, self.RULE_job)
        self._la = 0 # Token type
        try:
            self.state = 239
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [54]:
                self.enterOuterAlt(localctx, 1)
                self.state = 233
                self.match(ESLParser.STRING)
                pass
            elif token in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 59, 60, 61, 62, 65, 66, 67]:
                self.enterOuterAlt(localctx, 2)
                self.state = 235 
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while True:
                    self.state = 234
                    _la = self._input.LA(1)
                    if _la <= 0 or ((((_la - 54)) & ~0x3f) == 0 and ((1 << (_la - 54)) & 17951) != 0):
                        self._errHandler.recoverInline(self)
                    else:
                        self._errHandler.reportMatch(self)
                        self.consume()
                    self.state = 237 
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if not ((((_la) & ~0x3f) == 0 and ((1 << _la) & 8664925683060834302) != 0) or ((((_la - 65)) & ~0x3f) == 0 and ((1 << (_la - 65)) & 7) != 0)):
                        break

                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class WordContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def IDENTIFIER(self):
            return self.getToken(ESLParser.IDENTIFIER, 0)

        def INCLUDE(self):
            return self.getToken(ESLParser.INCLUDE, 0)

        def DECLARE(self):
            return self.getToken(ESLParser.DECLARE, 0)

        def ENTITY(self):
            return self.getToken(ESLParser.ENTITY, 0)

        def EXCEPTION_TYPE(self):
            return self.getToken(ESLParser.EXCEPTION_TYPE, 0)

        def RESOURCE(self):
            return self.getToken(ESLParser.RESOURCE, 0)

        def EXCEPTION(self):
            return self.getToken(ESLParser.EXCEPTION, 0)

        def DETECTION(self):
            return self.getToken(ESLParser.DETECTION, 0)

        def RECOVERY(self):
            return self.getToken(ESLParser.RECOVERY, 0)

        def STEP(self):
            return self.getToken(ESLParser.STEP, 0)

        def JOB(self):
            return self.getToken(ESLParser.JOB, 0)

        def NODE(self):
            return self.getToken(ESLParser.NODE, 0)

        def HANDLER(self):
            return self.getToken(ESLParser.HANDLER, 0)

        def LOG(self):
            return self.getToken(ESLParser.LOG, 0)

        def MATCH(self):
            return self.getToken(ESLParser.MATCH, 0)

        def MULTIPLE(self):
            return self.getToken(ESLParser.MULTIPLE, 0)

        def ANY(self):
            return self.getToken(ESLParser.ANY, 0)

        def HANG(self):
            return self.getToken(ESLParser.HANG, 0)

        def SILENCE(self):
            return self.getToken(ESLParser.SILENCE, 0)

        def PROGRESS(self):
            return self.getToken(ESLParser.PROGRESS, 0)

        def EXIT(self):
            return self.getToken(ESLParser.EXIT, 0)

        def EXCEPT(self):
            return self.getToken(ESLParser.EXCEPT, 0)

        def CODE(self):
            return self.getToken(ESLParser.CODE, 0)

        def SIGNAL(self):
            return self.getToken(ESLParser.SIGNAL, 0)

        def DOWN(self):
            return self.getToken(ESLParser.DOWN, 0)

        def DRAINED(self):
            return self.getToken(ESLParser.DRAINED, 0)

        def DISK(self):
            return self.getToken(ESLParser.DISK, 0)

        def INODES(self):
            return self.getToken(ESLParser.INODES, 0)

        def QUOTA(self):
            return self.getToken(ESLParser.QUOTA, 0)

        def ABOVE(self):
            return self.getToken(ESLParser.ABOVE, 0)

        def RECURRING(self):
            return self.getToken(ESLParser.RECURRING, 0)

        def TIMES(self):
            return self.getToken(ESLParser.TIMES, 0)

        def WITHIN(self):
            return self.getToken(ESLParser.WITHIN, 0)

        def TIMEOUT(self):
            return self.getToken(ESLParser.TIMEOUT, 0)

        def WARMUP(self):
            return self.getToken(ESLParser.WARMUP, 0)

        def LIMIT(self):
            return self.getToken(ESLParser.LIMIT, 0)

        def BACKOFF(self):
            return self.getToken(ESLParser.BACKOFF, 0)

        def ELSE(self):
            return self.getToken(ESLParser.ELSE, 0)

        def FAIL(self):
            return self.getToken(ESLParser.FAIL, 0)

        def PAUSE(self):
            return self.getToken(ESLParser.PAUSE, 0)

        def ESCALATE(self):
            return self.getToken(ESLParser.ESCALATE, 0)

        def RAISE(self):
            return self.getToken(ESLParser.RAISE, 0)

        def SEVERITY(self):
            return self.getToken(ESLParser.SEVERITY, 0)

        def EXTERNAL(self):
            return self.getToken(ESLParser.EXTERNAL, 0)

        def PREDICTED(self):
            return self.getToken(ESLParser.PREDICTED, 0)

        def CONFIDENCE(self):
            return self.getToken(ESLParser.CONFIDENCE, 0)

        def BEFORE(self):
            return self.getToken(ESLParser.BEFORE, 0)

        def FAILURE(self):
            return self.getToken(ESLParser.FAILURE, 0)

        def STDOUT(self):
            return self.getToken(ESLParser.STDOUT, 0)

        def STDERR(self):
            return self.getToken(ESLParser.STDERR, 0)

        def OUTPUT(self):
            return self.getToken(ESLParser.OUTPUT, 0)

        def FILE(self):
            return self.getToken(ESLParser.FILE, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_word

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitWord" ):
                return visitor.visitWord(self)
            else:
                return visitor.visitChildren(self)




    def word(self):

        localctx = ESLParser.WordContext(self, self._ctx, self.state)
        self.enterRule(localctx, 24, self.RULE_word)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 241
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 9007199254740990) != 0)):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ClauseContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return ESLParser.RULE_clause

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class OtherwiseContext(ClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.ClauseContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def ELSE(self):
            return self.getToken(ESLParser.ELSE, 0)
        def FAIL(self):
            return self.getToken(ESLParser.FAIL, 0)
        def PAUSE(self):
            return self.getToken(ESLParser.PAUSE, 0)
        def ESCALATE(self):
            return self.getToken(ESLParser.ESCALATE, 0)
        def exceptionName(self):
            return self.getTypedRuleContext(ESLParser.ExceptionNameContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitOtherwise" ):
                return visitor.visitOtherwise(self)
            else:
                return visitor.visitChildren(self)


    class BackoffContext(ClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.ClauseContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def BACKOFF(self):
            return self.getToken(ESLParser.BACKOFF, 0)
        def seconds(self):
            return self.getTypedRuleContext(ESLParser.SecondsContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitBackoff" ):
                return visitor.visitBackoff(self)
            else:
                return visitor.visitChildren(self)


    class LimitContext(ClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.ClauseContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def LIMIT(self):
            return self.getToken(ESLParser.LIMIT, 0)
        def count(self):
            return self.getTypedRuleContext(ESLParser.CountContext,0)

        def within(self):
            return self.getTypedRuleContext(ESLParser.WithinContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitLimit" ):
                return visitor.visitLimit(self)
            else:
                return visitor.visitChildren(self)


    class RaiseContext(ClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.ClauseContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def RAISE(self):
            return self.getToken(ESLParser.RAISE, 0)
        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)
        def severity(self):
            return self.getTypedRuleContext(ESLParser.SeverityContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitRaise" ):
                return visitor.visitRaise(self)
            else:
                return visitor.visitChildren(self)



    def clause(self):

        localctx = ESLParser.ClauseContext(self, self._ctx, self.state)
        self.enterRule(localctx, 26, self.RULE_clause)
        self._la = 0 # Token type
        try:
            self.state = 264
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [35]:
                localctx = ESLParser.LimitContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 243
                self.match(ESLParser.LIMIT)
                self.state = 244
                self.count()
                self.state = 246
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==32:
                    self.state = 245
                    self.within()


                pass
            elif token in [36]:
                localctx = ESLParser.BackoffContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 248
                self.match(ESLParser.BACKOFF)
                self.state = 249
                self.seconds()
                pass
            elif token in [37]:
                localctx = ESLParser.OtherwiseContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 250
                self.match(ESLParser.ELSE)
                self.state = 257
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [38]:
                    self.state = 251
                    self.match(ESLParser.FAIL)
                    pass
                elif token in [39]:
                    self.state = 252
                    self.match(ESLParser.PAUSE)
                    pass
                elif token in [40]:
                    self.state = 253
                    self.match(ESLParser.ESCALATE)
                    self.state = 255
                    self._errHandler.sync(self)
                    la_ = self._interp.adaptivePredict(self._input,28,self._ctx)
                    if la_ == 1:
                        self.state = 254
                        self.exceptionName()


                    pass
                else:
                    raise NoViableAltException(self)

                pass
            elif token in [41]:
                localctx = ESLParser.RaiseContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 259
                self.match(ESLParser.RAISE)
                self.state = 260
                self.match(ESLParser.STRING)
                self.state = 262
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==42:
                    self.state = 261
                    self.severity()


                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DetectionContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return ESLParser.RULE_detection

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class HangContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def HANG(self):
            return self.getToken(ESLParser.HANG, 0)
        def pattern(self):
            return self.getTypedRuleContext(ESLParser.PatternContext,0)

        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)

        def timer(self):
            return self.getTypedRuleContext(ESLParser.TimerContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitHang" ):
                return visitor.visitHang(self)
            else:
                return visitor.visitChildren(self)


    class LogContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def pattern(self):
            return self.getTypedRuleContext(ESLParser.PatternContext,0)

        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)

        def recurring(self):
            return self.getTypedRuleContext(ESLParser.RecurringContext,0)

        def timer(self):
            return self.getTypedRuleContext(ESLParser.TimerContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitLog" ):
                return visitor.visitLog(self)
            else:
                return visitor.visitChildren(self)


    class JobExceptionContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def JOB(self):
            return self.getToken(ESLParser.JOB, 0)
        def EXCEPTION(self):
            return self.getToken(ESLParser.EXCEPTION, 0)
        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)
        def severity(self):
            return self.getTypedRuleContext(ESLParser.SeverityContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitJobException" ):
                return visitor.visitJobException(self)
            else:
                return visitor.visitChildren(self)


    class MultipleContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def MULTIPLE(self):
            return self.getToken(ESLParser.MULTIPLE, 0)
        def patterns(self):
            return self.getTypedRuleContext(ESLParser.PatternsContext,0)

        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)

        def within(self):
            return self.getTypedRuleContext(ESLParser.WithinContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitMultiple" ):
                return visitor.visitMultiple(self)
            else:
                return visitor.visitChildren(self)


    class AnyOfContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def ANY(self):
            return self.getToken(ESLParser.ANY, 0)
        def patterns(self):
            return self.getTypedRuleContext(ESLParser.PatternsContext,0)

        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)

        def recurring(self):
            return self.getTypedRuleContext(ESLParser.RecurringContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitAnyOf" ):
                return visitor.visitAnyOf(self)
            else:
                return visitor.visitChildren(self)


    class ExitContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def EXIT(self):
            return self.getToken(ESLParser.EXIT, 0)
        def ANY(self):
            return self.getToken(ESLParser.ANY, 0)
        def codes(self):
            return self.getTypedRuleContext(ESLParser.CodesContext,0)

        def SIGNAL(self):
            return self.getToken(ESLParser.SIGNAL, 0)
        def signal(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.SignalContext)
            else:
                return self.getTypedRuleContext(ESLParser.SignalContext,i)

        def EXCEPT(self):
            return self.getToken(ESLParser.EXCEPT, 0)
        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitExit" ):
                return visitor.visitExit(self)
            else:
                return visitor.visitChildren(self)


    class NodeContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def NODE(self):
            return self.getToken(ESLParser.NODE, 0)
        def DOWN(self):
            return self.getToken(ESLParser.DOWN, 0)
        def DRAINED(self):
            return self.getToken(ESLParser.DRAINED, 0)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitNode" ):
                return visitor.visitNode(self)
            else:
                return visitor.visitChildren(self)


    class DiskContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)
        def ABOVE(self):
            return self.getToken(ESLParser.ABOVE, 0)
        def percent(self):
            return self.getTypedRuleContext(ESLParser.PercentContext,0)

        def PERCENT(self):
            return self.getToken(ESLParser.PERCENT, 0)
        def DISK(self):
            return self.getToken(ESLParser.DISK, 0)
        def INODES(self):
            return self.getToken(ESLParser.INODES, 0)
        def QUOTA(self):
            return self.getToken(ESLParser.QUOTA, 0)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitDisk" ):
                return visitor.visitDisk(self)
            else:
                return visitor.visitChildren(self)


    class ExternalContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def EXTERNAL(self):
            return self.getToken(ESLParser.EXTERNAL, 0)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitExternal" ):
                return visitor.visitExternal(self)
            else:
                return visitor.visitChildren(self)


    class ProgressContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def PROGRESS(self):
            return self.getToken(ESLParser.PROGRESS, 0)
        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)
        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)

        def timer(self):
            return self.getTypedRuleContext(ESLParser.TimerContext,0)

        def MATCH(self):
            return self.getToken(ESLParser.MATCH, 0)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitProgress" ):
                return visitor.visitProgress(self)
            else:
                return visitor.visitChildren(self)


    class CountedContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def EXCEPTION(self):
            return self.getToken(ESLParser.EXCEPTION, 0)
        def exceptionName(self):
            return self.getTypedRuleContext(ESLParser.ExceptionNameContext,0)

        def count(self):
            return self.getTypedRuleContext(ESLParser.CountContext,0)

        def TIMES(self):
            return self.getToken(ESLParser.TIMES, 0)
        def within(self):
            return self.getTypedRuleContext(ESLParser.WithinContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitCounted" ):
                return visitor.visitCounted(self)
            else:
                return visitor.visitChildren(self)


    class SilenceContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def SILENCE(self):
            return self.getToken(ESLParser.SILENCE, 0)
        def timer(self):
            return self.getTypedRuleContext(ESLParser.TimerContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSilence" ):
                return visitor.visitSilence(self)
            else:
                return visitor.visitChildren(self)


    class PredictedContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def PREDICTED(self):
            return self.getToken(ESLParser.PREDICTED, 0)
        def NODE(self):
            return self.getToken(ESLParser.NODE, 0)
        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)
        def within(self):
            return self.getTypedRuleContext(ESLParser.WithinContext,0)

        def CONFIDENCE(self):
            return self.getToken(ESLParser.CONFIDENCE, 0)
        def confidence(self):
            return self.getTypedRuleContext(ESLParser.ConfidenceContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitPredicted" ):
                return visitor.visitPredicted(self)
            else:
                return visitor.visitChildren(self)



    def detection(self):

        localctx = ESLParser.DetectionContext(self, self._ctx, self.state)
        self.enterRule(localctx, 28, self.RULE_detection)
        self._la = 0 # Token type
        try:
            self.state = 351
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [17]:
                localctx = ESLParser.HangContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 266
                self.match(ESLParser.HANG)
                self.state = 267
                self.pattern()
                self.state = 268
                self.source()
                self.state = 269
                self.timer()
                pass
            elif token in [13, 14]:
                localctx = ESLParser.LogContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 271
                self.pattern()
                self.state = 272
                self.source()
                self.state = 275
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [30]:
                    self.state = 273
                    self.recurring()
                    pass
                elif token in [33]:
                    self.state = 274
                    self.timer()
                    pass
                elif token in [-1, 64]:
                    pass
                else:
                    pass
                pass
            elif token in [15]:
                localctx = ESLParser.MultipleContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 277
                self.match(ESLParser.MULTIPLE)
                self.state = 278
                self.patterns()
                self.state = 279
                self.source()
                self.state = 281
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==32:
                    self.state = 280
                    self.within()


                pass
            elif token in [16]:
                localctx = ESLParser.AnyOfContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 283
                self.match(ESLParser.ANY)
                self.state = 284
                self.patterns()
                self.state = 285
                self.source()
                self.state = 287
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==30:
                    self.state = 286
                    self.recurring()


                pass
            elif token in [18]:
                localctx = ESLParser.SilenceContext(self, localctx)
                self.enterOuterAlt(localctx, 5)
                self.state = 289
                self.match(ESLParser.SILENCE)
                self.state = 290
                self.timer()
                pass
            elif token in [19]:
                localctx = ESLParser.ProgressContext(self, localctx)
                self.enterOuterAlt(localctx, 6)
                self.state = 291
                self.match(ESLParser.PROGRESS)
                self.state = 293
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==14:
                    self.state = 292
                    self.match(ESLParser.MATCH)


                self.state = 295
                self.match(ESLParser.STRING)
                self.state = 296
                self.source()
                self.state = 297
                self.timer()
                pass
            elif token in [20]:
                localctx = ESLParser.ExitContext(self, localctx)
                self.enterOuterAlt(localctx, 7)
                self.state = 299
                self.match(ESLParser.EXIT)
                self.state = 315
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [16]:
                    self.state = 300
                    self.match(ESLParser.ANY)
                    self.state = 303
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if _la==21:
                        self.state = 301
                        self.match(ESLParser.EXCEPT)
                        self.state = 302
                        self.codes()


                    pass
                elif token in [22]:
                    self.state = 305
                    self.codes()
                    pass
                elif token in [23]:
                    self.state = 306
                    self.match(ESLParser.SIGNAL)
                    self.state = 307
                    self.signal()
                    self.state = 312
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==56:
                        self.state = 308
                        self.match(ESLParser.COMMA)
                        self.state = 309
                        self.signal()
                        self.state = 314
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    pass
                else:
                    raise NoViableAltException(self)

                pass
            elif token in [11]:
                localctx = ESLParser.NodeContext(self, localctx)
                self.enterOuterAlt(localctx, 8)
                self.state = 317
                self.match(ESLParser.NODE)
                self.state = 318
                _la = self._input.LA(1)
                if not(_la==24 or _la==25):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                pass
            elif token in [26, 27, 28]:
                localctx = ESLParser.DiskContext(self, localctx)
                self.enterOuterAlt(localctx, 9)
                self.state = 319
                _la = self._input.LA(1)
                if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 469762048) != 0)):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                self.state = 320
                self.match(ESLParser.STRING)
                self.state = 321
                self.match(ESLParser.ABOVE)
                self.state = 322
                self.percent()
                self.state = 323
                self.match(ESLParser.PERCENT)
                pass
            elif token in [6]:
                localctx = ESLParser.CountedContext(self, localctx)
                self.enterOuterAlt(localctx, 10)
                self.state = 325
                self.match(ESLParser.EXCEPTION)
                self.state = 326
                self.exceptionName()
                self.state = 327
                self.count()
                self.state = 328
                self.match(ESLParser.TIMES)
                self.state = 330
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==32:
                    self.state = 329
                    self.within()


                pass
            elif token in [10]:
                localctx = ESLParser.JobExceptionContext(self, localctx)
                self.enterOuterAlt(localctx, 11)
                self.state = 332
                self.match(ESLParser.JOB)
                self.state = 333
                self.match(ESLParser.EXCEPTION)
                self.state = 334
                self.match(ESLParser.STRING)
                self.state = 336
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==42:
                    self.state = 335
                    self.severity()


                pass
            elif token in [43]:
                localctx = ESLParser.ExternalContext(self, localctx)
                self.enterOuterAlt(localctx, 12)
                self.state = 338
                self.match(ESLParser.EXTERNAL)
                pass
            elif token in [44]:
                localctx = ESLParser.PredictedContext(self, localctx)
                self.enterOuterAlt(localctx, 13)
                self.state = 339
                self.match(ESLParser.PREDICTED)
                self.state = 342
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==11:
                    self.state = 340
                    self.match(ESLParser.NODE)
                    self.state = 341
                    self.match(ESLParser.STRING)


                self.state = 345
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==32:
                    self.state = 344
                    self.within()


                self.state = 349
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==45:
                    self.state = 347
                    self.match(ESLParser.CONFIDENCE)
                    self.state = 348
                    self.confidence()


                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PatternContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def LOG(self):
            return self.getToken(ESLParser.LOG, 0)

        def MATCH(self):
            return self.getToken(ESLParser.MATCH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_pattern

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitPattern" ):
                return visitor.visitPattern(self)
            else:
                return visitor.visitChildren(self)




    def pattern(self):

        localctx = ESLParser.PatternContext(self, self._ctx, self.state)
        self.enterRule(localctx, 30, self.RULE_pattern)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 353
            _la = self._input.LA(1)
            if not(_la==13 or _la==14):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
            self.state = 354
            self.match(ESLParser.STRING)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PatternsContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def OPEN(self):
            return self.getToken(ESLParser.OPEN, 0)

        def listed(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.ListedContext)
            else:
                return self.getTypedRuleContext(ESLParser.ListedContext,i)


        def CLOSE(self):
            return self.getToken(ESLParser.CLOSE, 0)

        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def getRuleIndex(self):
            return ESLParser.RULE_patterns

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitPatterns" ):
                return visitor.visitPatterns(self)
            else:
                return visitor.visitChildren(self)




    def patterns(self):

        localctx = ESLParser.PatternsContext(self, self._ctx, self.state)
        self.enterRule(localctx, 32, self.RULE_patterns)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 356
            self.match(ESLParser.OPEN)
            self.state = 360
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==64:
                self.state = 357
                self.match(ESLParser.NEWLINE)
                self.state = 362
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 363
            self.listed()
            self.state = 367
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==64:
                self.state = 364
                self.match(ESLParser.NEWLINE)
                self.state = 369
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 386
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==56:
                self.state = 370
                self.match(ESLParser.COMMA)
                self.state = 374
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==64:
                    self.state = 371
                    self.match(ESLParser.NEWLINE)
                    self.state = 376
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 377
                self.listed()
                self.state = 381
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==64:
                    self.state = 378
                    self.match(ESLParser.NEWLINE)
                    self.state = 383
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 388
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 389
            self.match(ESLParser.CLOSE)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ListedContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def LOG(self):
            return self.getToken(ESLParser.LOG, 0)

        def MATCH(self):
            return self.getToken(ESLParser.MATCH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_listed

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitListed" ):
                return visitor.visitListed(self)
            else:
                return visitor.visitChildren(self)




    def listed(self):

        localctx = ESLParser.ListedContext(self, self._ctx, self.state)
        self.enterRule(localctx, 34, self.RULE_listed)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 392
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==13 or _la==14:
                self.state = 391
                _la = self._input.LA(1)
                if not(_la==13 or _la==14):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()


            self.state = 394
            self.match(ESLParser.STRING)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SourceContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def STDOUT(self):
            return self.getToken(ESLParser.STDOUT, 0)

        def STDERR(self):
            return self.getToken(ESLParser.STDERR, 0)

        def OUTPUT(self):
            return self.getToken(ESLParser.OUTPUT, 0)

        def FILE(self):
            return self.getToken(ESLParser.FILE, 0)

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_source

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSource" ):
                return visitor.visitSource(self)
            else:
                return visitor.visitChildren(self)




    def source(self):

        localctx = ESLParser.SourceContext(self, self._ctx, self.state)
        self.enterRule(localctx, 36, self.RULE_source)
        try:
            self.state = 401
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [48]:
                self.enterOuterAlt(localctx, 1)
                self.state = 396
                self.match(ESLParser.STDOUT)
                pass
            elif token in [49]:
                self.enterOuterAlt(localctx, 2)
                self.state = 397
                self.match(ESLParser.STDERR)
                pass
            elif token in [50]:
                self.enterOuterAlt(localctx, 3)
                self.state = 398
                self.match(ESLParser.OUTPUT)
                pass
            elif token in [51]:
                self.enterOuterAlt(localctx, 4)
                self.state = 399
                self.match(ESLParser.FILE)
                self.state = 400
                self.match(ESLParser.STRING)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class RecurringContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def RECURRING(self):
            return self.getToken(ESLParser.RECURRING, 0)

        def count(self):
            return self.getTypedRuleContext(ESLParser.CountContext,0)


        def within(self):
            return self.getTypedRuleContext(ESLParser.WithinContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_recurring

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitRecurring" ):
                return visitor.visitRecurring(self)
            else:
                return visitor.visitChildren(self)




    def recurring(self):

        localctx = ESLParser.RecurringContext(self, self._ctx, self.state)
        self.enterRule(localctx, 38, self.RULE_recurring)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 403
            self.match(ESLParser.RECURRING)
            self.state = 404
            self.count()
            self.state = 406
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==32:
                self.state = 405
                self.within()


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class WithinContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def WITHIN(self):
            return self.getToken(ESLParser.WITHIN, 0)

        def seconds(self):
            return self.getTypedRuleContext(ESLParser.SecondsContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_within

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitWithin" ):
                return visitor.visitWithin(self)
            else:
                return visitor.visitChildren(self)




    def within(self):

        localctx = ESLParser.WithinContext(self, self._ctx, self.state)
        self.enterRule(localctx, 40, self.RULE_within)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 408
            self.match(ESLParser.WITHIN)
            self.state = 409
            self.seconds()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class TimerContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def TIMEOUT(self):
            return self.getToken(ESLParser.TIMEOUT, 0)

        def seconds(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.SecondsContext)
            else:
                return self.getTypedRuleContext(ESLParser.SecondsContext,i)


        def WARMUP(self):
            return self.getToken(ESLParser.WARMUP, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_timer

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitTimer" ):
                return visitor.visitTimer(self)
            else:
                return visitor.visitChildren(self)




    def timer(self):

        localctx = ESLParser.TimerContext(self, self._ctx, self.state)
        self.enterRule(localctx, 42, self.RULE_timer)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 411
            self.match(ESLParser.TIMEOUT)
            self.state = 412
            self.seconds()
            self.state = 415
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==34:
                self.state = 413
                self.match(ESLParser.WARMUP)
                self.state = 414
                self.seconds()


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class CodesContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def CODE(self):
            return self.getToken(ESLParser.CODE, 0)

        def code(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.CodeContext)
            else:
                return self.getTypedRuleContext(ESLParser.CodeContext,i)


        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def getRuleIndex(self):
            return ESLParser.RULE_codes

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitCodes" ):
                return visitor.visitCodes(self)
            else:
                return visitor.visitChildren(self)




    def codes(self):

        localctx = ESLParser.CodesContext(self, self._ctx, self.state)
        self.enterRule(localctx, 44, self.RULE_codes)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 417
            self.match(ESLParser.CODE)
            self.state = 418
            self.code()
            self.state = 423
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==56:
                self.state = 419
                self.match(ESLParser.COMMA)
                self.state = 420
                self.code()
                self.state = 425
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class CodeContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NUMBER)
            else:
                return self.getToken(ESLParser.NUMBER, i)

        def DASH(self):
            return self.getToken(ESLParser.DASH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_code

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitCode" ):
                return visitor.visitCode(self)
            else:
                return visitor.visitChildren(self)




    def code(self):

        localctx = ESLParser.CodeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 46, self.RULE_code)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 426
            self.match(ESLParser.NUMBER)
            self.state = 429
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==60:
                self.state = 427
                self.match(ESLParser.DASH)
                self.state = 428
                self.match(ESLParser.NUMBER)


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SeverityContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def SEVERITY(self):
            return self.getToken(ESLParser.SEVERITY, 0)

        def count(self):
            return self.getTypedRuleContext(ESLParser.CountContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_severity

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSeverity" ):
                return visitor.visitSeverity(self)
            else:
                return visitor.visitChildren(self)




    def severity(self):

        localctx = ESLParser.SeverityContext(self, self._ctx, self.state)
        self.enterRule(localctx, 48, self.RULE_severity)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 431
            self.match(ESLParser.SEVERITY)
            self.state = 432
            self.count()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SignalContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def IDENTIFIER(self):
            return self.getToken(ESLParser.IDENTIFIER, 0)

        def NUMBER(self):
            return self.getToken(ESLParser.NUMBER, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_signal

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSignal" ):
                return visitor.visitSignal(self)
            else:
                return visitor.visitChildren(self)




    def signal(self):

        localctx = ESLParser.SignalContext(self, self._ctx, self.state)
        self.enterRule(localctx, 50, self.RULE_signal)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 434
            _la = self._input.LA(1)
            if not(_la==52 or _la==53):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class CountContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self):
            return self.getToken(ESLParser.NUMBER, 0)

        def DASH(self):
            return self.getToken(ESLParser.DASH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_count

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitCount" ):
                return visitor.visitCount(self)
            else:
                return visitor.visitChildren(self)




    def count(self):

        localctx = ESLParser.CountContext(self, self._ctx, self.state)
        self.enterRule(localctx, 52, self.RULE_count)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 437
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==60:
                self.state = 436
                self.match(ESLParser.DASH)


            self.state = 439
            self.match(ESLParser.NUMBER)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SecondsContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self):
            return self.getToken(ESLParser.NUMBER, 0)

        def DASH(self):
            return self.getToken(ESLParser.DASH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_seconds

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSeconds" ):
                return visitor.visitSeconds(self)
            else:
                return visitor.visitChildren(self)




    def seconds(self):

        localctx = ESLParser.SecondsContext(self, self._ctx, self.state)
        self.enterRule(localctx, 54, self.RULE_seconds)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 442
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==60:
                self.state = 441
                self.match(ESLParser.DASH)


            self.state = 444
            self.match(ESLParser.NUMBER)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PercentContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self):
            return self.getToken(ESLParser.NUMBER, 0)

        def DASH(self):
            return self.getToken(ESLParser.DASH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_percent

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitPercent" ):
                return visitor.visitPercent(self)
            else:
                return visitor.visitChildren(self)




    def percent(self):

        localctx = ESLParser.PercentContext(self, self._ctx, self.state)
        self.enterRule(localctx, 56, self.RULE_percent)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 447
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==60:
                self.state = 446
                self.match(ESLParser.DASH)


            self.state = 449
            self.match(ESLParser.NUMBER)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ConfidenceContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self):
            return self.getToken(ESLParser.NUMBER, 0)

        def DASH(self):
            return self.getToken(ESLParser.DASH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_confidence

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitConfidence" ):
                return visitor.visitConfidence(self)
            else:
                return visitor.visitChildren(self)




    def confidence(self):

        localctx = ESLParser.ConfidenceContext(self, self._ctx, self.state)
        self.enterRule(localctx, 58, self.RULE_confidence)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 452
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==60:
                self.state = 451
                self.match(ESLParser.DASH)


            self.state = 454
            self.match(ESLParser.NUMBER)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx





