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
        4,1,64,434,2,0,7,0,2,1,7,1,2,2,7,2,2,3,7,3,2,4,7,4,2,5,7,5,2,6,7,
        6,2,7,7,7,2,8,7,8,2,9,7,9,2,10,7,10,2,11,7,11,2,12,7,12,2,13,7,13,
        2,14,7,14,2,15,7,15,2,16,7,16,2,17,7,17,2,18,7,18,2,19,7,19,2,20,
        7,20,2,21,7,21,2,22,7,22,2,23,7,23,2,24,7,24,2,25,7,25,2,26,7,26,
        2,27,7,27,2,28,7,28,1,0,5,0,60,8,0,10,0,12,0,63,9,0,1,0,5,0,66,8,
        0,10,0,12,0,69,9,0,1,0,1,0,1,1,1,1,4,1,75,8,1,11,1,12,1,76,1,1,3,
        1,80,8,1,1,2,1,2,1,2,1,2,1,2,1,2,1,2,3,2,89,8,2,3,2,91,8,2,1,3,1,
        3,1,3,1,3,5,3,97,8,3,10,3,12,3,100,9,3,1,3,1,3,1,3,1,3,5,3,106,8,
        3,10,3,12,3,109,9,3,1,3,1,3,1,3,1,3,5,3,115,8,3,10,3,12,3,118,9,
        3,1,3,1,3,5,3,122,8,3,10,3,12,3,125,9,3,1,3,1,3,5,3,129,8,3,10,3,
        12,3,132,9,3,1,3,1,3,5,3,136,8,3,10,3,12,3,139,9,3,5,3,141,8,3,10,
        3,12,3,144,9,3,1,3,1,3,1,3,3,3,149,8,3,1,3,1,3,1,3,1,3,1,3,1,3,5,
        3,157,8,3,10,3,12,3,160,9,3,1,3,1,3,5,3,164,8,3,10,3,12,3,167,9,
        3,1,3,1,3,5,3,171,8,3,10,3,12,3,174,9,3,1,3,1,3,5,3,178,8,3,10,3,
        12,3,181,9,3,5,3,183,8,3,10,3,12,3,186,9,3,1,3,1,3,5,3,190,8,3,10,
        3,12,3,193,9,3,3,3,195,8,3,1,4,1,4,1,4,1,4,1,4,1,4,1,4,1,4,1,4,1,
        4,1,4,1,4,3,4,209,8,4,3,4,211,8,4,1,5,1,5,1,6,1,6,1,7,1,7,1,8,1,
        8,1,9,1,9,1,10,1,10,1,10,3,10,226,8,10,1,11,1,11,4,11,230,8,11,11,
        11,12,11,231,3,11,234,8,11,1,12,1,12,1,13,1,13,1,13,3,13,241,8,13,
        1,13,1,13,1,13,1,13,1,13,1,13,1,13,3,13,250,8,13,3,13,252,8,13,1,
        13,1,13,1,13,3,13,257,8,13,3,13,259,8,13,1,14,1,14,1,14,1,14,1,14,
        1,14,1,14,1,14,1,14,3,14,270,8,14,1,14,1,14,1,14,1,14,3,14,276,8,
        14,1,14,1,14,1,14,1,14,3,14,282,8,14,1,14,1,14,1,14,1,14,3,14,288,
        8,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,3,14,298,8,14,1,14,
        1,14,1,14,1,14,1,14,5,14,305,8,14,10,14,12,14,308,9,14,3,14,310,
        8,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,
        1,14,3,14,325,8,14,1,14,1,14,1,14,1,14,3,14,331,8,14,1,14,3,14,334,
        8,14,1,15,1,15,1,15,1,16,1,16,5,16,341,8,16,10,16,12,16,344,9,16,
        1,16,1,16,5,16,348,8,16,10,16,12,16,351,9,16,1,16,1,16,5,16,355,
        8,16,10,16,12,16,358,9,16,1,16,1,16,5,16,362,8,16,10,16,12,16,365,
        9,16,5,16,367,8,16,10,16,12,16,370,9,16,1,16,1,16,1,17,3,17,375,
        8,17,1,17,1,17,1,18,1,18,1,18,1,18,1,18,3,18,384,8,18,1,19,1,19,
        1,19,3,19,389,8,19,1,20,1,20,1,20,1,21,1,21,1,21,1,21,3,21,398,8,
        21,1,22,1,22,1,22,1,22,5,22,404,8,22,10,22,12,22,407,9,22,1,23,1,
        23,1,23,3,23,412,8,23,1,24,1,24,1,24,1,25,1,25,1,26,3,26,420,8,26,
        1,26,1,26,1,27,3,27,425,8,27,1,27,1,27,1,28,3,28,430,8,28,1,28,1,
        28,1,28,0,0,29,0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,
        36,38,40,42,44,46,48,50,52,54,56,0,6,3,0,50,54,59,60,64,64,1,0,1,
        48,1,0,24,25,1,0,26,28,1,0,13,14,1,0,48,49,479,0,61,1,0,0,0,2,72,
        1,0,0,0,4,90,1,0,0,0,6,194,1,0,0,0,8,210,1,0,0,0,10,212,1,0,0,0,
        12,214,1,0,0,0,14,216,1,0,0,0,16,218,1,0,0,0,18,220,1,0,0,0,20,222,
        1,0,0,0,22,233,1,0,0,0,24,235,1,0,0,0,26,258,1,0,0,0,28,333,1,0,
        0,0,30,335,1,0,0,0,32,338,1,0,0,0,34,374,1,0,0,0,36,383,1,0,0,0,
        38,385,1,0,0,0,40,390,1,0,0,0,42,393,1,0,0,0,44,399,1,0,0,0,46,408,
        1,0,0,0,48,413,1,0,0,0,50,416,1,0,0,0,52,419,1,0,0,0,54,424,1,0,
        0,0,56,429,1,0,0,0,58,60,5,60,0,0,59,58,1,0,0,0,60,63,1,0,0,0,61,
        59,1,0,0,0,61,62,1,0,0,0,62,67,1,0,0,0,63,61,1,0,0,0,64,66,3,2,1,
        0,65,64,1,0,0,0,66,69,1,0,0,0,67,65,1,0,0,0,67,68,1,0,0,0,68,70,
        1,0,0,0,69,67,1,0,0,0,70,71,5,0,0,1,71,1,1,0,0,0,72,79,3,4,2,0,73,
        75,5,60,0,0,74,73,1,0,0,0,75,76,1,0,0,0,76,74,1,0,0,0,76,77,1,0,
        0,0,77,80,1,0,0,0,78,80,5,0,0,1,79,74,1,0,0,0,79,78,1,0,0,0,80,3,
        1,0,0,0,81,82,5,2,0,0,82,91,3,6,3,0,83,84,5,6,0,0,84,91,3,8,4,0,
        85,86,5,1,0,0,86,88,5,50,0,0,87,89,3,36,18,0,88,87,1,0,0,0,88,89,
        1,0,0,0,89,91,1,0,0,0,90,81,1,0,0,0,90,83,1,0,0,0,90,85,1,0,0,0,
        91,5,1,0,0,0,92,93,5,3,0,0,93,98,3,10,5,0,94,95,5,52,0,0,95,97,3,
        10,5,0,96,94,1,0,0,0,97,100,1,0,0,0,98,96,1,0,0,0,98,99,1,0,0,0,
        99,195,1,0,0,0,100,98,1,0,0,0,101,102,5,4,0,0,102,107,3,12,6,0,103,
        104,5,52,0,0,104,106,3,12,6,0,105,103,1,0,0,0,106,109,1,0,0,0,107,
        105,1,0,0,0,107,108,1,0,0,0,108,195,1,0,0,0,109,107,1,0,0,0,110,
        111,5,5,0,0,111,112,3,14,7,0,112,116,5,53,0,0,113,115,5,60,0,0,114,
        113,1,0,0,0,115,118,1,0,0,0,116,114,1,0,0,0,116,117,1,0,0,0,117,
        119,1,0,0,0,118,116,1,0,0,0,119,123,3,20,10,0,120,122,5,60,0,0,121,
        120,1,0,0,0,122,125,1,0,0,0,123,121,1,0,0,0,123,124,1,0,0,0,124,
        142,1,0,0,0,125,123,1,0,0,0,126,130,5,52,0,0,127,129,5,60,0,0,128,
        127,1,0,0,0,129,132,1,0,0,0,130,128,1,0,0,0,130,131,1,0,0,0,131,
        133,1,0,0,0,132,130,1,0,0,0,133,137,3,20,10,0,134,136,5,60,0,0,135,
        134,1,0,0,0,136,139,1,0,0,0,137,135,1,0,0,0,137,138,1,0,0,0,138,
        141,1,0,0,0,139,137,1,0,0,0,140,126,1,0,0,0,141,144,1,0,0,0,142,
        140,1,0,0,0,142,143,1,0,0,0,143,145,1,0,0,0,144,142,1,0,0,0,145,
        148,5,54,0,0,146,147,5,12,0,0,147,149,5,50,0,0,148,146,1,0,0,0,148,
        149,1,0,0,0,149,195,1,0,0,0,150,151,5,6,0,0,151,152,3,18,9,0,152,
        153,3,12,6,0,153,154,5,10,0,0,154,158,5,53,0,0,155,157,5,60,0,0,
        156,155,1,0,0,0,157,160,1,0,0,0,158,156,1,0,0,0,158,159,1,0,0,0,
        159,161,1,0,0,0,160,158,1,0,0,0,161,165,3,22,11,0,162,164,5,60,0,
        0,163,162,1,0,0,0,164,167,1,0,0,0,165,163,1,0,0,0,165,166,1,0,0,
        0,166,184,1,0,0,0,167,165,1,0,0,0,168,172,5,52,0,0,169,171,5,60,
        0,0,170,169,1,0,0,0,171,174,1,0,0,0,172,170,1,0,0,0,172,173,1,0,
        0,0,173,175,1,0,0,0,174,172,1,0,0,0,175,179,3,22,11,0,176,178,5,
        60,0,0,177,176,1,0,0,0,178,181,1,0,0,0,179,177,1,0,0,0,179,180,1,
        0,0,0,180,183,1,0,0,0,181,179,1,0,0,0,182,168,1,0,0,0,183,186,1,
        0,0,0,184,182,1,0,0,0,184,185,1,0,0,0,185,187,1,0,0,0,186,184,1,
        0,0,0,187,191,5,54,0,0,188,190,3,26,13,0,189,188,1,0,0,0,190,193,
        1,0,0,0,191,189,1,0,0,0,191,192,1,0,0,0,192,195,1,0,0,0,193,191,
        1,0,0,0,194,92,1,0,0,0,194,101,1,0,0,0,194,110,1,0,0,0,194,150,1,
        0,0,0,195,7,1,0,0,0,196,197,5,7,0,0,197,198,3,18,9,0,198,199,3,28,
        14,0,199,211,1,0,0,0,200,201,5,8,0,0,201,202,5,9,0,0,202,203,3,18,
        9,0,203,204,3,10,5,0,204,205,3,14,7,0,205,206,5,55,0,0,206,208,3,
        16,8,0,207,209,5,51,0,0,208,207,1,0,0,0,208,209,1,0,0,0,209,211,
        1,0,0,0,210,196,1,0,0,0,210,200,1,0,0,0,211,9,1,0,0,0,212,213,3,
        24,12,0,213,11,1,0,0,0,214,215,3,24,12,0,215,13,1,0,0,0,216,217,
        3,24,12,0,217,15,1,0,0,0,218,219,3,24,12,0,219,17,1,0,0,0,220,221,
        3,24,12,0,221,19,1,0,0,0,222,225,3,16,8,0,223,224,5,12,0,0,224,226,
        5,50,0,0,225,223,1,0,0,0,225,226,1,0,0,0,226,21,1,0,0,0,227,234,
        5,50,0,0,228,230,8,0,0,0,229,228,1,0,0,0,230,231,1,0,0,0,231,229,
        1,0,0,0,231,232,1,0,0,0,232,234,1,0,0,0,233,227,1,0,0,0,233,229,
        1,0,0,0,234,23,1,0,0,0,235,236,7,1,0,0,236,25,1,0,0,0,237,238,5,
        35,0,0,238,240,3,52,26,0,239,241,3,40,20,0,240,239,1,0,0,0,240,241,
        1,0,0,0,241,259,1,0,0,0,242,243,5,36,0,0,243,259,3,54,27,0,244,251,
        5,37,0,0,245,252,5,38,0,0,246,252,5,39,0,0,247,249,5,40,0,0,248,
        250,3,18,9,0,249,248,1,0,0,0,249,250,1,0,0,0,250,252,1,0,0,0,251,
        245,1,0,0,0,251,246,1,0,0,0,251,247,1,0,0,0,252,259,1,0,0,0,253,
        254,5,41,0,0,254,256,5,50,0,0,255,257,3,48,24,0,256,255,1,0,0,0,
        256,257,1,0,0,0,257,259,1,0,0,0,258,237,1,0,0,0,258,242,1,0,0,0,
        258,244,1,0,0,0,258,253,1,0,0,0,259,27,1,0,0,0,260,261,5,17,0,0,
        261,262,3,30,15,0,262,263,3,36,18,0,263,264,3,42,21,0,264,334,1,
        0,0,0,265,266,3,30,15,0,266,269,3,36,18,0,267,270,3,38,19,0,268,
        270,3,42,21,0,269,267,1,0,0,0,269,268,1,0,0,0,269,270,1,0,0,0,270,
        334,1,0,0,0,271,272,5,15,0,0,272,273,3,32,16,0,273,275,3,36,18,0,
        274,276,3,40,20,0,275,274,1,0,0,0,275,276,1,0,0,0,276,334,1,0,0,
        0,277,278,5,16,0,0,278,279,3,32,16,0,279,281,3,36,18,0,280,282,3,
        38,19,0,281,280,1,0,0,0,281,282,1,0,0,0,282,334,1,0,0,0,283,284,
        5,18,0,0,284,334,3,42,21,0,285,287,5,19,0,0,286,288,5,14,0,0,287,
        286,1,0,0,0,287,288,1,0,0,0,288,289,1,0,0,0,289,290,5,50,0,0,290,
        291,3,36,18,0,291,292,3,42,21,0,292,334,1,0,0,0,293,309,5,20,0,0,
        294,297,5,16,0,0,295,296,5,21,0,0,296,298,3,44,22,0,297,295,1,0,
        0,0,297,298,1,0,0,0,298,310,1,0,0,0,299,310,3,44,22,0,300,301,5,
        23,0,0,301,306,3,50,25,0,302,303,5,52,0,0,303,305,3,50,25,0,304,
        302,1,0,0,0,305,308,1,0,0,0,306,304,1,0,0,0,306,307,1,0,0,0,307,
        310,1,0,0,0,308,306,1,0,0,0,309,294,1,0,0,0,309,299,1,0,0,0,309,
        300,1,0,0,0,310,334,1,0,0,0,311,312,5,11,0,0,312,334,7,2,0,0,313,
        314,7,3,0,0,314,315,5,50,0,0,315,316,5,29,0,0,316,317,3,56,28,0,
        317,318,5,59,0,0,318,334,1,0,0,0,319,320,5,6,0,0,320,321,3,18,9,
        0,321,322,3,52,26,0,322,324,5,31,0,0,323,325,3,40,20,0,324,323,1,
        0,0,0,324,325,1,0,0,0,325,334,1,0,0,0,326,327,5,10,0,0,327,328,5,
        6,0,0,328,330,5,50,0,0,329,331,3,48,24,0,330,329,1,0,0,0,330,331,
        1,0,0,0,331,334,1,0,0,0,332,334,5,43,0,0,333,260,1,0,0,0,333,265,
        1,0,0,0,333,271,1,0,0,0,333,277,1,0,0,0,333,283,1,0,0,0,333,285,
        1,0,0,0,333,293,1,0,0,0,333,311,1,0,0,0,333,313,1,0,0,0,333,319,
        1,0,0,0,333,326,1,0,0,0,333,332,1,0,0,0,334,29,1,0,0,0,335,336,7,
        4,0,0,336,337,5,50,0,0,337,31,1,0,0,0,338,342,5,53,0,0,339,341,5,
        60,0,0,340,339,1,0,0,0,341,344,1,0,0,0,342,340,1,0,0,0,342,343,1,
        0,0,0,343,345,1,0,0,0,344,342,1,0,0,0,345,349,3,34,17,0,346,348,
        5,60,0,0,347,346,1,0,0,0,348,351,1,0,0,0,349,347,1,0,0,0,349,350,
        1,0,0,0,350,368,1,0,0,0,351,349,1,0,0,0,352,356,5,52,0,0,353,355,
        5,60,0,0,354,353,1,0,0,0,355,358,1,0,0,0,356,354,1,0,0,0,356,357,
        1,0,0,0,357,359,1,0,0,0,358,356,1,0,0,0,359,363,3,34,17,0,360,362,
        5,60,0,0,361,360,1,0,0,0,362,365,1,0,0,0,363,361,1,0,0,0,363,364,
        1,0,0,0,364,367,1,0,0,0,365,363,1,0,0,0,366,352,1,0,0,0,367,370,
        1,0,0,0,368,366,1,0,0,0,368,369,1,0,0,0,369,371,1,0,0,0,370,368,
        1,0,0,0,371,372,5,54,0,0,372,33,1,0,0,0,373,375,7,4,0,0,374,373,
        1,0,0,0,374,375,1,0,0,0,375,376,1,0,0,0,376,377,5,50,0,0,377,35,
        1,0,0,0,378,384,5,44,0,0,379,384,5,45,0,0,380,384,5,46,0,0,381,382,
        5,47,0,0,382,384,5,50,0,0,383,378,1,0,0,0,383,379,1,0,0,0,383,380,
        1,0,0,0,383,381,1,0,0,0,384,37,1,0,0,0,385,386,5,30,0,0,386,388,
        3,52,26,0,387,389,3,40,20,0,388,387,1,0,0,0,388,389,1,0,0,0,389,
        39,1,0,0,0,390,391,5,32,0,0,391,392,3,54,27,0,392,41,1,0,0,0,393,
        394,5,33,0,0,394,397,3,54,27,0,395,396,5,34,0,0,396,398,3,54,27,
        0,397,395,1,0,0,0,397,398,1,0,0,0,398,43,1,0,0,0,399,400,5,22,0,
        0,400,405,3,46,23,0,401,402,5,52,0,0,402,404,3,46,23,0,403,401,1,
        0,0,0,404,407,1,0,0,0,405,403,1,0,0,0,405,406,1,0,0,0,406,45,1,0,
        0,0,407,405,1,0,0,0,408,411,5,49,0,0,409,410,5,56,0,0,410,412,5,
        49,0,0,411,409,1,0,0,0,411,412,1,0,0,0,412,47,1,0,0,0,413,414,5,
        42,0,0,414,415,3,52,26,0,415,49,1,0,0,0,416,417,7,5,0,0,417,51,1,
        0,0,0,418,420,5,56,0,0,419,418,1,0,0,0,419,420,1,0,0,0,420,421,1,
        0,0,0,421,422,5,49,0,0,422,53,1,0,0,0,423,425,5,56,0,0,424,423,1,
        0,0,0,424,425,1,0,0,0,425,426,1,0,0,0,426,427,5,49,0,0,427,55,1,
        0,0,0,428,430,5,56,0,0,429,428,1,0,0,0,429,430,1,0,0,0,430,431,1,
        0,0,0,431,432,5,49,0,0,432,57,1,0,0,0,55,61,67,76,79,88,90,98,107,
        116,123,130,137,142,148,158,165,172,179,184,191,194,208,210,225,
        231,233,240,249,251,256,258,269,275,281,287,297,306,309,324,330,
        333,342,349,356,363,368,374,383,388,397,405,411,419,424,429
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
                     "'EXTERNAL'", "'stdout'", "'stderr'", "'output'", "'file'", 
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
                      "EXTERNAL", "STDOUT", "STDERR", "OUTPUT", "FILE", 
                      "IDENTIFIER", "NUMBER", "STRING", "JSON_OBJECT", "COMMA", 
                      "OPEN", "CLOSE", "DOT", "DASH", "STAR", "QUESTION", 
                      "PERCENT", "NEWLINE", "CONTINUATION", "BLANK", "COMMENT", 
                      "INVALID" ]

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

    ruleNames =  [ "specification", "line", "statement", "declaration", 
                   "handling", "entity", "level", "resource", "operation", 
                   "exceptionName", "offer", "job", "word", "clause", "detection", 
                   "pattern", "patterns", "listed", "source", "recurring", 
                   "within", "timer", "codes", "code", "severity", "signal", 
                   "count", "seconds", "percent" ]

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
    STDOUT=44
    STDERR=45
    OUTPUT=46
    FILE=47
    IDENTIFIER=48
    NUMBER=49
    STRING=50
    JSON_OBJECT=51
    COMMA=52
    OPEN=53
    CLOSE=54
    DOT=55
    DASH=56
    STAR=57
    QUESTION=58
    PERCENT=59
    NEWLINE=60
    CONTINUATION=61
    BLANK=62
    COMMENT=63
    INVALID=64

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
            self.state = 61
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==60:
                self.state = 58
                self.match(ESLParser.NEWLINE)
                self.state = 63
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 67
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 70) != 0):
                self.state = 64
                self.line()
                self.state = 69
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 70
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
            self.state = 72
            self.statement()
            self.state = 79
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [60]:
                self.state = 74 
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while True:
                    self.state = 73
                    self.match(ESLParser.NEWLINE)
                    self.state = 76 
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if not (_la==60):
                        break

                pass
            elif token in [-1]:
                self.state = 78
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
            self.state = 90
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [2]:
                self.enterOuterAlt(localctx, 1)
                self.state = 81
                self.match(ESLParser.DECLARE)
                self.state = 82
                self.declaration()
                pass
            elif token in [6]:
                self.enterOuterAlt(localctx, 2)
                self.state = 83
                self.match(ESLParser.EXCEPTION)
                self.state = 84
                self.handling()
                pass
            elif token in [1]:
                self.enterOuterAlt(localctx, 3)
                self.state = 85
                self.match(ESLParser.INCLUDE)
                self.state = 86
                self.match(ESLParser.STRING)
                self.state = 88
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if (((_la) & ~0x3f) == 0 and ((1 << _la) & 263882790666240) != 0):
                    self.state = 87
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
            self.state = 194
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [3]:
                localctx = ESLParser.EntitiesContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 92
                self.match(ESLParser.ENTITY)
                self.state = 93
                self.entity()
                self.state = 98
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==52:
                    self.state = 94
                    self.match(ESLParser.COMMA)
                    self.state = 95
                    self.entity()
                    self.state = 100
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [4]:
                localctx = ESLParser.LevelsContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 101
                self.match(ESLParser.EXCEPTION_TYPE)
                self.state = 102
                self.level()
                self.state = 107
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==52:
                    self.state = 103
                    self.match(ESLParser.COMMA)
                    self.state = 104
                    self.level()
                    self.state = 109
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [5]:
                localctx = ESLParser.OffersContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 110
                self.match(ESLParser.RESOURCE)
                self.state = 111
                self.resource()
                self.state = 112
                self.match(ESLParser.OPEN)
                self.state = 116
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==60:
                    self.state = 113
                    self.match(ESLParser.NEWLINE)
                    self.state = 118
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 119
                self.offer()
                self.state = 123
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==60:
                    self.state = 120
                    self.match(ESLParser.NEWLINE)
                    self.state = 125
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 142
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==52:
                    self.state = 126
                    self.match(ESLParser.COMMA)
                    self.state = 130
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==60:
                        self.state = 127
                        self.match(ESLParser.NEWLINE)
                        self.state = 132
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 133
                    self.offer()
                    self.state = 137
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==60:
                        self.state = 134
                        self.match(ESLParser.NEWLINE)
                        self.state = 139
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 144
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 145
                self.match(ESLParser.CLOSE)
                self.state = 148
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==12:
                    self.state = 146
                    self.match(ESLParser.HANDLER)
                    self.state = 147
                    self.match(ESLParser.STRING)


                pass
            elif token in [6]:
                localctx = ESLParser.DeclaredContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 150
                self.match(ESLParser.EXCEPTION)
                self.state = 151
                self.exceptionName()
                self.state = 152
                self.level()
                self.state = 153
                self.match(ESLParser.JOB)
                self.state = 154
                self.match(ESLParser.OPEN)
                self.state = 158
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==60:
                    self.state = 155
                    self.match(ESLParser.NEWLINE)
                    self.state = 160
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 161
                self.job()
                self.state = 165
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==60:
                    self.state = 162
                    self.match(ESLParser.NEWLINE)
                    self.state = 167
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 184
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==52:
                    self.state = 168
                    self.match(ESLParser.COMMA)
                    self.state = 172
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==60:
                        self.state = 169
                        self.match(ESLParser.NEWLINE)
                        self.state = 174
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 175
                    self.job()
                    self.state = 179
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==60:
                        self.state = 176
                        self.match(ESLParser.NEWLINE)
                        self.state = 181
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 186
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 187
                self.match(ESLParser.CLOSE)
                self.state = 191
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 2439541424128) != 0):
                    self.state = 188
                    self.clause()
                    self.state = 193
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
            self.state = 210
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [7]:
                localctx = ESLParser.DetectedContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 196
                self.match(ESLParser.DETECTION)
                self.state = 197
                self.exceptionName()
                self.state = 198
                self.detection()
                pass
            elif token in [8]:
                localctx = ESLParser.RecoveredContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 200
                self.match(ESLParser.RECOVERY)
                self.state = 201
                self.match(ESLParser.STEP)
                self.state = 202
                self.exceptionName()
                self.state = 203
                self.entity()
                self.state = 204
                self.resource()
                self.state = 205
                self.match(ESLParser.DOT)
                self.state = 206
                self.operation()
                self.state = 208
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==51:
                    self.state = 207
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
            self.state = 212
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
            self.state = 214
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
            self.state = 216
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
            self.state = 218
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
            self.state = 220
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
            self.state = 222
            self.operation()
            self.state = 225
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==12:
                self.state = 223
                self.match(ESLParser.HANDLER)
                self.state = 224
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
            self.state = 233
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [50]:
                self.enterOuterAlt(localctx, 1)
                self.state = 227
                self.match(ESLParser.STRING)
                pass
            elif token in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 55, 56, 57, 58, 61, 62, 63]:
                self.enterOuterAlt(localctx, 2)
                self.state = 229 
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while True:
                    self.state = 228
                    _la = self._input.LA(1)
                    if _la <= 0 or ((((_la - 50)) & ~0x3f) == 0 and ((1 << (_la - 50)) & 17951) != 0):
                        self._errHandler.recoverInline(self)
                    else:
                        self._errHandler.reportMatch(self)
                        self.consume()
                    self.state = 231 
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if not ((((_la) & ~0x3f) == 0 and ((1 << _la) & -1764285154022391810) != 0)):
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
            self.state = 235
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 562949953421310) != 0)):
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
            self.state = 258
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [35]:
                localctx = ESLParser.LimitContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 237
                self.match(ESLParser.LIMIT)
                self.state = 238
                self.count()
                self.state = 240
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==32:
                    self.state = 239
                    self.within()


                pass
            elif token in [36]:
                localctx = ESLParser.BackoffContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 242
                self.match(ESLParser.BACKOFF)
                self.state = 243
                self.seconds()
                pass
            elif token in [37]:
                localctx = ESLParser.OtherwiseContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 244
                self.match(ESLParser.ELSE)
                self.state = 251
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [38]:
                    self.state = 245
                    self.match(ESLParser.FAIL)
                    pass
                elif token in [39]:
                    self.state = 246
                    self.match(ESLParser.PAUSE)
                    pass
                elif token in [40]:
                    self.state = 247
                    self.match(ESLParser.ESCALATE)
                    self.state = 249
                    self._errHandler.sync(self)
                    la_ = self._interp.adaptivePredict(self._input,27,self._ctx)
                    if la_ == 1:
                        self.state = 248
                        self.exceptionName()


                    pass
                else:
                    raise NoViableAltException(self)

                pass
            elif token in [41]:
                localctx = ESLParser.RaiseContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 253
                self.match(ESLParser.RAISE)
                self.state = 254
                self.match(ESLParser.STRING)
                self.state = 256
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==42:
                    self.state = 255
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



    def detection(self):

        localctx = ESLParser.DetectionContext(self, self._ctx, self.state)
        self.enterRule(localctx, 28, self.RULE_detection)
        self._la = 0 # Token type
        try:
            self.state = 333
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [17]:
                localctx = ESLParser.HangContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 260
                self.match(ESLParser.HANG)
                self.state = 261
                self.pattern()
                self.state = 262
                self.source()
                self.state = 263
                self.timer()
                pass
            elif token in [13, 14]:
                localctx = ESLParser.LogContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 265
                self.pattern()
                self.state = 266
                self.source()
                self.state = 269
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [30]:
                    self.state = 267
                    self.recurring()
                    pass
                elif token in [33]:
                    self.state = 268
                    self.timer()
                    pass
                elif token in [-1, 60]:
                    pass
                else:
                    pass
                pass
            elif token in [15]:
                localctx = ESLParser.MultipleContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 271
                self.match(ESLParser.MULTIPLE)
                self.state = 272
                self.patterns()
                self.state = 273
                self.source()
                self.state = 275
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==32:
                    self.state = 274
                    self.within()


                pass
            elif token in [16]:
                localctx = ESLParser.AnyOfContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 277
                self.match(ESLParser.ANY)
                self.state = 278
                self.patterns()
                self.state = 279
                self.source()
                self.state = 281
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==30:
                    self.state = 280
                    self.recurring()


                pass
            elif token in [18]:
                localctx = ESLParser.SilenceContext(self, localctx)
                self.enterOuterAlt(localctx, 5)
                self.state = 283
                self.match(ESLParser.SILENCE)
                self.state = 284
                self.timer()
                pass
            elif token in [19]:
                localctx = ESLParser.ProgressContext(self, localctx)
                self.enterOuterAlt(localctx, 6)
                self.state = 285
                self.match(ESLParser.PROGRESS)
                self.state = 287
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==14:
                    self.state = 286
                    self.match(ESLParser.MATCH)


                self.state = 289
                self.match(ESLParser.STRING)
                self.state = 290
                self.source()
                self.state = 291
                self.timer()
                pass
            elif token in [20]:
                localctx = ESLParser.ExitContext(self, localctx)
                self.enterOuterAlt(localctx, 7)
                self.state = 293
                self.match(ESLParser.EXIT)
                self.state = 309
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [16]:
                    self.state = 294
                    self.match(ESLParser.ANY)
                    self.state = 297
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if _la==21:
                        self.state = 295
                        self.match(ESLParser.EXCEPT)
                        self.state = 296
                        self.codes()


                    pass
                elif token in [22]:
                    self.state = 299
                    self.codes()
                    pass
                elif token in [23]:
                    self.state = 300
                    self.match(ESLParser.SIGNAL)
                    self.state = 301
                    self.signal()
                    self.state = 306
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==52:
                        self.state = 302
                        self.match(ESLParser.COMMA)
                        self.state = 303
                        self.signal()
                        self.state = 308
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    pass
                else:
                    raise NoViableAltException(self)

                pass
            elif token in [11]:
                localctx = ESLParser.NodeContext(self, localctx)
                self.enterOuterAlt(localctx, 8)
                self.state = 311
                self.match(ESLParser.NODE)
                self.state = 312
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
                self.state = 313
                _la = self._input.LA(1)
                if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 469762048) != 0)):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                self.state = 314
                self.match(ESLParser.STRING)
                self.state = 315
                self.match(ESLParser.ABOVE)
                self.state = 316
                self.percent()
                self.state = 317
                self.match(ESLParser.PERCENT)
                pass
            elif token in [6]:
                localctx = ESLParser.CountedContext(self, localctx)
                self.enterOuterAlt(localctx, 10)
                self.state = 319
                self.match(ESLParser.EXCEPTION)
                self.state = 320
                self.exceptionName()
                self.state = 321
                self.count()
                self.state = 322
                self.match(ESLParser.TIMES)
                self.state = 324
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==32:
                    self.state = 323
                    self.within()


                pass
            elif token in [10]:
                localctx = ESLParser.JobExceptionContext(self, localctx)
                self.enterOuterAlt(localctx, 11)
                self.state = 326
                self.match(ESLParser.JOB)
                self.state = 327
                self.match(ESLParser.EXCEPTION)
                self.state = 328
                self.match(ESLParser.STRING)
                self.state = 330
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==42:
                    self.state = 329
                    self.severity()


                pass
            elif token in [43]:
                localctx = ESLParser.ExternalContext(self, localctx)
                self.enterOuterAlt(localctx, 12)
                self.state = 332
                self.match(ESLParser.EXTERNAL)
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
            self.state = 335
            _la = self._input.LA(1)
            if not(_la==13 or _la==14):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
            self.state = 336
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
            self.state = 338
            self.match(ESLParser.OPEN)
            self.state = 342
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==60:
                self.state = 339
                self.match(ESLParser.NEWLINE)
                self.state = 344
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 345
            self.listed()
            self.state = 349
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==60:
                self.state = 346
                self.match(ESLParser.NEWLINE)
                self.state = 351
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 368
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==52:
                self.state = 352
                self.match(ESLParser.COMMA)
                self.state = 356
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==60:
                    self.state = 353
                    self.match(ESLParser.NEWLINE)
                    self.state = 358
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 359
                self.listed()
                self.state = 363
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==60:
                    self.state = 360
                    self.match(ESLParser.NEWLINE)
                    self.state = 365
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 370
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 371
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
            self.state = 374
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==13 or _la==14:
                self.state = 373
                _la = self._input.LA(1)
                if not(_la==13 or _la==14):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()


            self.state = 376
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
            self.state = 383
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [44]:
                self.enterOuterAlt(localctx, 1)
                self.state = 378
                self.match(ESLParser.STDOUT)
                pass
            elif token in [45]:
                self.enterOuterAlt(localctx, 2)
                self.state = 379
                self.match(ESLParser.STDERR)
                pass
            elif token in [46]:
                self.enterOuterAlt(localctx, 3)
                self.state = 380
                self.match(ESLParser.OUTPUT)
                pass
            elif token in [47]:
                self.enterOuterAlt(localctx, 4)
                self.state = 381
                self.match(ESLParser.FILE)
                self.state = 382
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
            self.state = 385
            self.match(ESLParser.RECURRING)
            self.state = 386
            self.count()
            self.state = 388
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==32:
                self.state = 387
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
            self.state = 390
            self.match(ESLParser.WITHIN)
            self.state = 391
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
            self.state = 393
            self.match(ESLParser.TIMEOUT)
            self.state = 394
            self.seconds()
            self.state = 397
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==34:
                self.state = 395
                self.match(ESLParser.WARMUP)
                self.state = 396
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
            self.state = 399
            self.match(ESLParser.CODE)
            self.state = 400
            self.code()
            self.state = 405
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==52:
                self.state = 401
                self.match(ESLParser.COMMA)
                self.state = 402
                self.code()
                self.state = 407
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
            self.state = 408
            self.match(ESLParser.NUMBER)
            self.state = 411
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==56:
                self.state = 409
                self.match(ESLParser.DASH)
                self.state = 410
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
            self.state = 413
            self.match(ESLParser.SEVERITY)
            self.state = 414
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
            self.state = 416
            _la = self._input.LA(1)
            if not(_la==48 or _la==49):
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
            self.state = 419
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==56:
                self.state = 418
                self.match(ESLParser.DASH)


            self.state = 421
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
            self.state = 424
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==56:
                self.state = 423
                self.match(ESLParser.DASH)


            self.state = 426
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
            self.state = 429
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==56:
                self.state = 428
                self.match(ESLParser.DASH)


            self.state = 431
            self.match(ESLParser.NUMBER)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx





